-- The full-text index of chunks: terms analysed in Python, each prefixed with its scope ('s3xrouter'), text not stored.
-- The tokenizer only splits at spaces: every printable ASCII sign but quotes is a token character, so that 'c++' stays whole.
-- detail='none': a term carries its frequencies ('s3xrouter^4,1', index/text_index.py), so places are not kept; at 100,000
-- chunks the index takes 21 MB instead of 65 and a term is read in a third of the time. columnsize=0: lengths are in chunk.
-- Not contentless_delete: rows leave through the 'delete' command, which works in every SQLite and, with secure-delete,
-- leaves no trace. Measured in docs/house.md.
CREATE VIRTUAL TABLE chunk_fts USING fts5(words, content='', detail='none', columnsize=0, tokenize='ascii tokenchars ''!#$%&()*+,-./:;<=>?@[\]^_{|}~''');
