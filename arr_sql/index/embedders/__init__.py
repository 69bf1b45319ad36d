"""Embedding models: what one is (``protocol``), where its files live (``model_store``), how each kind runs.

The weights are data. Nothing here imports a package that carries them, and nothing here opens a
network connection. NumPy, ONNX Runtime and tokenizers belong to extras and are imported only when
a model is opened. ``tests/index/test_embedder_protocol.py`` holds that.
"""
