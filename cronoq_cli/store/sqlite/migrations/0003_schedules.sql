-- Recurring schedules: what was asked for and where each stands, both JSON; `env` is the environment its template names,
-- so that it stays while the schedule does. Slots that became no task are in `passed`, tasks of a schedule are found by
-- `recurring` and the instant `slot` that it named. Both histories outlive the schedule.

CREATE TABLE schedules (
    name TEXT PRIMARY KEY,
    env INTEGER,
    spec BLOB NOT NULL,
    state BLOB NOT NULL,
    added_at REAL NOT NULL,
    updated_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX schedules_env ON schedules (env) WHERE env IS NOT NULL;

-- Schedules that could not be decoded, kept for rescue.
CREATE TABLE schedules_set_aside (
    name TEXT PRIMARY KEY,
    at REAL NOT NULL,
    reason TEXT NOT NULL,
    spec BLOB,
    state BLOB
) WITHOUT ROWID;

CREATE TABLE passed (
    schedule TEXT NOT NULL,
    first_at REAL NOT NULL,
    status TEXT NOT NULL,
    last_at REAL NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (schedule, first_at, status)
) WITHOUT ROWID;
CREATE INDEX passed_ended ON passed (last_at, status);

ALTER TABLE tasks ADD COLUMN recurring TEXT;
ALTER TABLE tasks ADD COLUMN slot REAL;
CREATE INDEX tasks_recurring ON tasks (recurring, slot, id) WHERE recurring IS NOT NULL;
