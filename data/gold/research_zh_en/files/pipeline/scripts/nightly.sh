#!/usr/bin/env bash
# 04:50 start, 05:40 delivery.
set -euo pipefail
python -m pipeline.fetch --until 05:30
python -m pipeline.decode --expect gb18030 --header agreed/header_2024.txt
python -m pipeline.clean --config configs/limits.yaml
python -m pipeline.deliver --to /exchange/clean --also-parquet
