-- What scheduling learns and what commands change: run times by pool and kind, and the sizes of resources changed by
-- command. `data` is JSON. Names with lone surrogates are blobs, as everywhere.

CREATE TABLE run_times (
    pool TEXT NOT NULL,
    kind TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (pool, kind)
) WITHOUT ROWID;

CREATE TABLE resources (
    name TEXT PRIMARY KEY,
    data BLOB NOT NULL
) WITHOUT ROWID;
