-- What hooks are told: incidents that are open, and notices whose hooks have still to run. `data` is JSON. Subjects and
-- ids with lone surrogates are blobs, as everywhere.

CREATE TABLE incidents (
    subject TEXT PRIMARY KEY,
    data BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE notices (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    data BLOB NOT NULL
);
