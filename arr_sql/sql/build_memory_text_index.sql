-- The full-text index of memories: terms analysed in Python, each prefixed with its scope ('s3xrouter'), text not stored.
-- The tokenizer only splits at spaces: every printable ASCII sign but quotes is a token character, so that 'c++' stays whole.
-- Not contentless_delete: rows leave through the 'delete' command, which works in every SQLite and, with secure-delete,
-- leaves no trace. Measured in docs/house.md.
CREATE VIRTUAL TABLE memory_fts USING fts5(heading, body, content='', tokenize='ascii tokenchars ''!#$%&()*+,-./:;<=>?@[\]^_{|}~''');
