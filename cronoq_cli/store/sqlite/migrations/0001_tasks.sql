-- Tasks, their attempts, dependencies and history. Texts with lone surrogates (bytes that are not UTF-8) are kept as
-- blobs; `spec` and `rest` are JSON, kept as blobs so that a damaged one can still be read and set aside.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;

CREATE TABLE leader (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    epoch INTEGER NOT NULL,
    holder TEXT,
    since REAL
);
INSERT INTO leader (only, epoch) VALUES (1, 0);

CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,
    status TEXT NOT NULL,
    pool TEXT NOT NULL,
    priority INTEGER NOT NULL,
    seq REAL NOT NULL,
    key TEXT,
    name TEXT NOT NULL,
    tags TEXT,
    keep_s REAL,
    env INTEGER,
    fingerprint TEXT,
    batch INTEGER,
    submitted_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    ready_at REAL,
    due_at REAL,
    started_at REAL,
    finished_at REAL,
    held INTEGER NOT NULL,
    leased INTEGER NOT NULL,
    leaving INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    slot INTEGER,
    exit_code INTEGER,
    signal INTEGER,
    reason TEXT,
    message TEXT,
    log TEXT,
    rest BLOB,
    spec BLOB NOT NULL
);
CREATE INDEX tasks_live ON tasks (status, pool, priority, seq)
    WHERE status IN ('blocked', 'scheduled', 'ready', 'running', 'retrying');
CREATE INDEX tasks_final ON tasks (id, status, pool)
    WHERE status IN ('succeeded', 'failed', 'dead_lettered', 'cancelled', 'skipped', 'missed', 'shed');
CREATE INDEX tasks_ended ON tasks (finished_at, id, status)
    WHERE status IN ('succeeded', 'failed', 'dead_lettered', 'cancelled', 'skipped', 'missed', 'shed');
CREATE INDEX tasks_leaving ON tasks (id) WHERE leaving = 1;
CREATE INDEX tasks_kept ON tasks (id) WHERE keep_s IS NOT NULL;
CREATE INDEX tasks_key ON tasks (key) WHERE key IS NOT NULL;
CREATE INDEX tasks_fingerprint ON tasks (fingerprint) WHERE fingerprint IS NOT NULL;
CREATE INDEX tasks_env ON tasks (env) WHERE env IS NOT NULL;

-- What could not be decoded, kept for rescue; the task itself was rewritten as failed.
CREATE TABLE set_aside (
    task INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    reason TEXT NOT NULL,
    spec BLOB,
    rest BLOB
);

CREATE TABLE attempts (
    task INTEGER NOT NULL,
    number INTEGER NOT NULL,
    started_at REAL,
    ended_at REAL,
    run_s REAL,
    outcome TEXT,
    reason TEXT,
    exit_code INTEGER,
    signal INTEGER,
    core INTEGER,
    cause TEXT,
    message TEXT,
    pid INTEGER,
    cpu_user_s REAL,
    cpu_system_s REAL,
    max_rss INTEGER,
    log_size INTEGER,
    left_behind INTEGER,
    log TEXT,
    stderr_log TEXT,
    PRIMARY KEY (task, number)
) WITHOUT ROWID;

-- Dependencies, kept when they are closed (open = 0) until the task goes. target 0: an awaited key; awaited '': a task.
CREATE TABLE edges (
    task INTEGER NOT NULL,
    target INTEGER NOT NULL,
    awaited TEXT NOT NULL,
    condition TEXT NOT NULL,
    awaited_until REAL,
    open INTEGER NOT NULL,
    PRIMARY KEY (task, target, awaited, condition)
) WITHOUT ROWID;
CREATE INDEX edges_target ON edges (target) WHERE target <> 0;

CREATE TABLE batches (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    "limit" INTEGER,
    max_fails INTEGER,
    failed INTEGER NOT NULL
);

CREATE TABLE envs (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    content BLOB
);

CREATE TABLE stdins (
    task INTEGER PRIMARY KEY,
    content BLOB NOT NULL
);

CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    type TEXT NOT NULL,
    task INTEGER,
    key TEXT,
    pool TEXT,
    status TEXT,
    attempt INTEGER,
    message TEXT
);
CREATE INDEX events_task ON events (task) WHERE task IS NOT NULL;

CREATE TABLE pools (
    name TEXT PRIMARY KEY,
    state BLOB NOT NULL
) WITHOUT ROWID;
