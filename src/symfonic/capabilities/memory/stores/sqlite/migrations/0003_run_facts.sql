-- pre: what statements ask of a run, apart from its recorded input.

-- A row of run holds half a kilobyte for each episode that the run read, and finding a row by its
-- key reads all of every row that it is compared with.
CREATE INDEX run_facts ON run (scope, number, status, kind, clock, counter, compacted);
