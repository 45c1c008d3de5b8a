-- Waiting tasks that came in large submissions and that nothing has touched since: those of one lot differ by nothing but
-- their ids and specs in what a start needs to know, so that it counts them instead of reading each. The number of a lot is
-- the id of its first task. Every later write of a task takes it out of its lot.

ALTER TABLE tasks ADD COLUMN lot INTEGER;
DROP INDEX tasks_live;
CREATE INDEX tasks_live ON tasks (status, lot, pool) WHERE live = 1;
