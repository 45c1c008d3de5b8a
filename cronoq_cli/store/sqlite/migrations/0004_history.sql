-- What statistics count of an end, beside its event: `ended_at` is null for all other events. The index has all that the
-- sums over a window need, kind by kind, so that rows are never looked up and nothing is sorted.

ALTER TABLE events ADD COLUMN ended_at REAL;
ALTER TABLE events ADD COLUMN pool TEXT;
ALTER TABLE events ADD COLUMN kind TEXT;
ALTER TABLE events ADD COLUMN final TEXT;
ALTER TABLE events ADD COLUMN outcome TEXT;
ALTER TABLE events ADD COLUMN wait_s REAL;
ALTER TABLE events ADD COLUMN run_s REAL;
ALTER TABLE events ADD COLUMN slots INTEGER;
ALTER TABLE events ADD COLUMN in_time INTEGER;
ALTER TABLE events ADD COLUMN on_time INTEGER;
CREATE INDEX events_ended ON events (
    pool, kind, ended_at, final, outcome, wait_s, run_s, slots, in_time, on_time
) WHERE ended_at IS NOT NULL;
