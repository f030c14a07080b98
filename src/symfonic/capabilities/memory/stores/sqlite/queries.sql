-- Every statement of the SQLite store, by name. Values are always bound, never pasted in.
-- Sets of keys travel as one JSON array; CROSS JOIN keeps the array on the outside of the loop.

-- name: get_scope
-- A scope's own row.
SELECT path, salt, half_life_hours, visible, counter, run_count, last_clock, deep_clock, settings,
       lease_holder, lease_until, fence
FROM scope WHERE path = :scope;

-- name: get_salts
-- The salts of the visible scopes.
SELECT s.path, s.salt FROM json_each(:scopes) AS v CROSS JOIN scope AS s ON s.path = v.value;

-- name: list_scopes
-- All scope paths.
SELECT path FROM scope ORDER BY path;

-- name: insert_scope
-- A new scope; nothing where it is there.
INSERT INTO scope (path, salt, half_life_hours) VALUES (:scope, :salt, :half_life_hours)
ON CONFLICT (path) DO NOTHING;

-- name: advance_scope
-- After a write: counters, clocks and settings. A clock never goes back.
UPDATE scope SET counter = :counter, visible = visible + :visible, run_count = :run_count,
       last_clock = max(coalesce(last_clock, :last_clock), coalesce(:last_clock, last_clock)),
       deep_clock = max(coalesce(deep_clock, :deep_clock), coalesce(:deep_clock, deep_clock)),
       settings = :settings
WHERE path = :scope;

-- name: raise_scope
-- After rows were loaded: no number may be given twice, and no clock goes back.
UPDATE scope SET counter = max(counter, :counter), visible = visible + :visible,
       run_count = max(run_count, :run_count),
       last_clock = max(coalesce(last_clock, :last_clock), coalesce(:last_clock, last_clock)),
       deep_clock = max(coalesce(deep_clock, :deep_clock), coalesce(:deep_clock, deep_clock)),
       settings = CASE settings WHEN '{}' THEN :settings ELSE settings END
WHERE path = :scope;

-- name: set_lease
-- Take, renew or release a lease.
UPDATE scope SET lease_holder = :holder, lease_until = :until, fence = :fence WHERE path = :scope;

-- name: last_row
-- The greatest record row number.
SELECT coalesce(max(row), 0) FROM record;

-- name: get_records
-- Records of the visible scopes by id.
SELECT r.scope, r.id, r.version, r.seq, r.kind, r.key, r.state, r.pinned, r.trust, r.strength,
       r.occurred_at, r.recorded_at, r.until, r.session, r.position, r.status, r.text, r.body
FROM json_each(:scopes) AS v CROSS JOIN json_each(:ids) AS i
CROSS JOIN record AS r ON r.scope = v.value AND r.id = i.value
WHERE r.state <> 'forgotten';

-- name: known_states
-- Which of these ids are there, and in what state.
SELECT r.id, r.state FROM json_each(:ids) AS i
CROSS JOIN record AS r ON r.scope = :scope AND r.id = i.value;

-- name: session_ends
-- The last position of each of these sessions that holds episodes.
SELECT i.value, (SELECT max(position) FROM record WHERE scope = :scope AND session = i.value)
FROM json_each(:sessions) AS i;

-- name: session_tail
-- The last turns of a session, last first.
SELECT json_extract(body, '$.role'), text, json_extract(body, '$.calls'), occurred_at, id
FROM record WHERE scope = :scope AND session = :session AND kind = 'episode' AND state <> 'forgotten'
ORDER BY position DESC, seq DESC LIMIT :count;

-- name: insert_record
-- A new record row.
INSERT INTO record (row, scope, id, version, seq, kind, key, state, pinned, trust, strength,
                    occurred_at, recorded_at, until, session, position, status, text, body)
VALUES (:row, :scope, :id, :version, :seq, :kind, :key, :state, :pinned, :trust, :strength,
        :occurred_at, :recorded_at, :until, :session, :position, :status, :text, :body);

-- name: insert_episode
-- A new episode row, by position: the bulk path of ingest.
INSERT INTO record (row, scope, id, kind, state, version, seq, trust, strength, occurred_at,
                    recorded_at, session, position, text, body)
VALUES (?, ?, ?, 'episode', 'active', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: insert_text
-- A record's indexed text.
INSERT INTO record_text (rowid, scope, text) VALUES (?, ?, ?);

-- name: delete_text
-- A record's indexed text, by row number.
DELETE FROM record_text WHERE rowid = ?;

-- name: update_record
-- All content columns of a record.
UPDATE record SET version = :version, kind = :kind, key = :key, state = :state, pinned = :pinned,
       trust = :trust, strength = :strength, occurred_at = :occurred_at,
       recorded_at = :recorded_at, until = :until, session = :session, position = :position,
       status = :status, text = :text, body = :body
WHERE scope = :scope AND id = :id;

-- name: update_state
-- Only the state of a record: the common edit, which touches one index.
UPDATE record SET version = :version, state = :state WHERE scope = :scope AND id = :id;

-- name: update_strength
-- Only the strength of a record: touches no index.
UPDATE record SET version = :version, strength = :strength WHERE scope = :scope AND id = :id;

-- name: delete_record
-- A record row whose adding was undone.
DELETE FROM record WHERE scope = :scope AND id = :id;

-- name: record_rows
-- Row numbers of records, for their indexed text.
SELECT r.id, r.row FROM json_each(:ids) AS i
CROSS JOIN record AS r ON r.scope = :scope AND r.id = i.value;

-- name: stale_records
-- Records whose version is not the one a plan had read, also those that are gone.
SELECT json_extract(i.value, '$[0]') FROM json_each(:read) AS i
WHERE NOT EXISTS (
    SELECT 1 FROM json_each(:scopes) AS v CROSS JOIN record AS r
    ON r.scope = v.value AND r.id = json_extract(i.value, '$[0]')
    WHERE r.version = json_extract(i.value, '$[1]') AND r.state <> 'forgotten');

-- name: stale_links
-- Links whose version is not the one a plan had read, also those that are gone.
SELECT json_extract(i.value, '$[0]') FROM json_each(:read) AS i
WHERE NOT EXISTS (
    SELECT 1 FROM link AS l
    WHERE l.scope = :scope AND l.source = json_extract(i.value, '$[0]')
      AND l.kind = json_extract(i.value, '$[1]') AND l.target = json_extract(i.value, '$[2]')
      AND l.version = json_extract(i.value, '$[3]'));

-- name: gone_pending
-- Unread rows that a plan wants to clear and that are cleared already, by record.
SELECT json_extract(i.value, '$[1]') FROM json_each(:done) AS i
WHERE NOT EXISTS (
    SELECT 1 FROM pending AS p
    WHERE p.scope = :scope AND p.phase = json_extract(i.value, '$[0]')
      AND p.record = json_extract(i.value, '$[1]'));

-- name: undone_since
-- Which of these groups, as phase, kind and id, an undo after this run took back.
SELECT DISTINCT c.phase || '/' || c.group_kind || '/' || c.group_id
FROM json_each(:groups) AS i
CROSS JOIN change AS c INDEXED BY change_undone
 ON c.scope = :scope AND c.phase = json_extract(i.value, '$[0]')
 AND c.group_id = json_extract(i.value, '$[2]') AND c.undone_by IS NOT NULL
WHERE c.group_kind = json_extract(i.value, '$[1]') AND c.undone_by > :run;

-- name: get_pending
-- Unread rows of a phase, half newest and half oldest.
SELECT record, stamp FROM (
    SELECT record, stamp FROM pending WHERE scope = :scope AND phase = :phase AND at <= :until
     AND record NOT IN (SELECT value FROM json_each(:without))
    ORDER BY at, record LIMIT :oldest)
UNION
SELECT record, stamp FROM (
    SELECT record, stamp FROM pending WHERE scope = :scope AND phase = :phase AND at <= :until
     AND record NOT IN (SELECT value FROM json_each(:without))
    ORDER BY at DESC, record DESC LIMIT :newest);

-- name: count_pending
-- How many unread rows a phase has.
SELECT count(*) FROM pending WHERE scope = :scope AND phase = :phase AND at <= :until
 AND record NOT IN (SELECT value FROM json_each(:without));

-- name: insert_pending
-- An unread row; a row already there gets a new stamp.
INSERT INTO pending (scope, phase, at, record, stamp) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (scope, phase, record) DO UPDATE SET stamp = excluded.stamp, at = excluded.at;

-- name: touch_pending
-- Unread rows for records by id, at their own effective times; ids of other scopes fall out.
INSERT INTO pending (scope, phase, at, record, stamp)
SELECT r.scope, :phase, r.at, r.id, :stamp FROM json_each(:ids) AS i
CROSS JOIN record AS r ON r.scope = :scope AND r.id = i.value
WHERE r.state <> 'forgotten'
ON CONFLICT (scope, phase, record) DO UPDATE SET stamp = excluded.stamp;

-- name: touch_used
-- An unread row for a used record, from the hour of the use on.
INSERT INTO pending (scope, phase, at, record, stamp)
SELECT scope, :phase, max(at, :at), id, :stamp FROM record
WHERE scope = :scope AND id = :id AND state <> 'forgotten'
ON CONFLICT (scope, phase, record)
DO UPDATE SET stamp = excluded.stamp, at = max(at, excluded.at);

-- name: later_episodes
-- The episodes with tool calls that follow a position of a session within a span.
SELECT id FROM record WHERE scope = :scope AND session = :session
 AND position > :position AND position <= :position + :span
 AND kind = 'episode' AND state <> 'forgotten' AND instr(body, '"calls":[') > 0
ORDER BY position LIMIT :count;

-- name: reread_pending
-- Everything of a kind becomes unread again, but for what was just read.
INSERT INTO pending (scope, phase, at, record, stamp)
SELECT scope, :phase, at, id, :stamp FROM record
WHERE scope = :scope AND kind = :kind AND state IN ('active', 'condensed', 'archived')
  AND id NOT IN (SELECT value FROM json_each(:done))
ON CONFLICT (scope, phase, record) DO NOTHING;

-- name: delete_pending
-- A row that was read, unless it was renewed since.
DELETE FROM pending WHERE scope = ? AND phase = ? AND record = ? AND stamp = ?;

-- name: delete_pending_of
-- All unread rows of a record.
DELETE FROM pending WHERE scope = :scope AND record = :id AND phase IN (
    SELECT DISTINCT value FROM json_each(:phases));

-- name: pending_phases
-- The phases that have unread rows.
WITH RECURSIVE phases (phase) AS (
    SELECT min(phase) FROM pending WHERE scope = :scope
    UNION ALL
    SELECT (SELECT min(phase) FROM pending WHERE scope = :scope AND phase > phases.phase)
    FROM phases WHERE phases.phase IS NOT NULL)
SELECT phase FROM phases WHERE phase IS NOT NULL;

-- name: get_before
-- The episodes before each given position of a session, latest first.
SELECT json_extract(i.value, '$[0]'), r.scope, r.id, r.version, r.seq, r.kind, r.key, r.state,
       r.pinned, r.trust, r.strength, r.occurred_at, r.recorded_at, r.until, r.session, r.position,
       r.status, r.text, r.body
FROM json_each(:episodes) AS i
CROSS JOIN record AS r ON r.scope = :scope AND r.session = json_extract(i.value, '$[1]')
 AND r.position < json_extract(i.value, '$[2]') AND r.position >= json_extract(i.value, '$[3]')
WHERE r.kind = 'episode' AND r.state <> 'forgotten'
  AND (:with_calls = 0 OR instr(r.body, '"calls":[') > 0);

-- name: get_neighbours
-- The episodes near given positions of a session, in the visible scopes.
SELECT r.scope, r.id, r.version, r.seq, r.kind, r.key, r.state, r.pinned, r.trust, r.strength,
       r.occurred_at, r.recorded_at, r.until, r.session, r.position, r.status, r.text, r.body
FROM json_each(:episodes) AS i
CROSS JOIN record AS r ON r.scope = json_extract(i.value, '$[0]')
 AND r.session = json_extract(i.value, '$[1]')
 AND r.position BETWEEN json_extract(i.value, '$[2]') AND json_extract(i.value, '$[3]')
WHERE r.kind = 'episode' AND r.state IN ('active', 'condensed');

-- name: links_out
-- Links from records.
SELECT l.source, l.kind, l.target, l.count, l.at, l.version
FROM json_each(:ids) AS i CROSS JOIN json_each(:kinds) AS k
CROSS JOIN link AS l ON l.scope = :scope AND l.source = i.value AND l.kind = k.value;

-- name: links_in
-- Each record's last :per_record links to it of each kind.
WITH ends (target, kind, at, source) AS MATERIALIZED (
    SELECT i.value, k.value, coalesce((
        SELECT n.at FROM link AS n
        WHERE n.scope = :scope AND n.target = i.value AND n.kind = k.value
        ORDER BY n.at DESC, n.source DESC LIMIT 1 OFFSET :per_record - 1), -9223372036854775807),
     coalesce((
        SELECT n.source FROM link AS n
        WHERE n.scope = :scope AND n.target = i.value AND n.kind = k.value
        ORDER BY n.at DESC, n.source DESC LIMIT 1 OFFSET :per_record - 1), '')
    FROM json_each(:ids) AS i CROSS JOIN json_each(:kinds) AS k)
SELECT l.source, l.kind, l.target, l.count, l.at, l.version
FROM ends CROSS JOIN link AS l ON l.scope = :scope AND l.target = ends.target
 AND l.kind = ends.kind AND (l.at, l.source) >= (ends.at, ends.source);

-- name: degrees_out
-- Summed counts of links from records, at most :cap links of each.
SELECT i.value, (SELECT sum(count) FROM (
    SELECT l.count FROM link AS l
    WHERE l.scope = :scope AND l.source = i.value AND l.kind = k.value
    ORDER BY l.target LIMIT :cap))
FROM json_each(:ids) AS i CROSS JOIN json_each(:kinds) AS k;

-- name: degrees_in
-- Summed counts of links to records, at most :cap links of each.
SELECT i.value, (SELECT sum(count) FROM (
    SELECT l.count FROM link AS l
    WHERE l.scope = :scope AND l.target = i.value AND l.kind = k.value
    ORDER BY l.at DESC, l.source DESC LIMIT :cap))
FROM json_each(:ids) AS i CROSS JOIN json_each(:kinds) AS k;

-- name: upsert_link
-- A link, new or with another count.
INSERT INTO link (scope, source, kind, target, count, at, version)
VALUES (:scope, :source, :kind, :target, :count, :at, :version)
ON CONFLICT (scope, source, kind, target)
DO UPDATE SET count = excluded.count, at = excluded.at, version = excluded.version;

-- name: delete_link
-- A link.
DELETE FROM link WHERE scope = :scope AND source = :source AND kind = :kind AND target = :target;

-- name: link_rows
-- Links by key, for before-images.
SELECT l.source, l.kind, l.target, l.count, l.at, l.version FROM json_each(:rows) AS i
CROSS JOIN link AS l ON l.scope = :scope AND l.source = json_extract(i.value, '$[0]')
 AND l.kind = json_extract(i.value, '$[1]') AND l.target = json_extract(i.value, '$[2]');

-- name: delete_seen_of
-- What a reader had found in an episode, before it is read again.
DELETE FROM seen WHERE scope = ? AND episode = ? AND reader = ?;

-- name: insert_seen
-- What a reader found.
INSERT INTO seen (scope, episode, reader, kind, key, session, "window", at, ok, score, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: tally_seen
-- Distinct episodes and sessions per key, the newest :cap rows of each and this pass's own.
WITH ends (key, at, episode) AS MATERIALIZED (
    SELECT k.value, coalesce((
        SELECT n.at FROM seen AS n
        WHERE n.scope = :scope AND n.reader = :reader AND n.key = k.value
          AND n.at BETWEEN :since AND :until
        ORDER BY n.at DESC, n.episode DESC LIMIT 1 OFFSET :cap - 1), :since),
     coalesce((
        SELECT n.episode FROM seen AS n
        WHERE n.scope = :scope AND n.reader = :reader AND n.key = k.value
          AND n.at BETWEEN :since AND :until
        ORDER BY n.at DESC, n.episode DESC LIMIT 1 OFFSET :cap - 1), '')
    FROM json_each(:keys) AS k),
found (key, episode, session, ok, at) AS (
    SELECT s.key, s.episode, s.session, s.ok, s.at
    FROM ends
    CROSS JOIN seen AS s ON s.scope = :scope AND s.reader = :reader AND s.key = ends.key
     AND (s.at, s.episode) >= (ends.at, ends.episode) AND s.at <= :until
    WHERE s.score >= :least_score AND s.episode NOT IN (SELECT value FROM json_each(:replaced))
    UNION
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]')
    FROM json_each(:also))
SELECT key, count(DISTINCT episode), count(DISTINCT session),
       count(DISTINCT CASE WHEN ok IS NOT 0 THEN session END), min(at), max(at)
FROM found GROUP BY key;

-- name: get_sightings
-- The newest :per_key rows of each key.
WITH ends (key, at, episode) AS MATERIALIZED (
    SELECT k.value, coalesce((
        SELECT n.at FROM seen AS n
        WHERE n.scope = :scope AND n.reader = :reader AND n.key = k.value
          AND n.at BETWEEN :since AND :until
        ORDER BY n.at DESC, n.episode DESC LIMIT 1 OFFSET :per_key - 1), :since),
     coalesce((
        SELECT n.episode FROM seen AS n
        WHERE n.scope = :scope AND n.reader = :reader AND n.key = k.value
          AND n.at BETWEEN :since AND :until
        ORDER BY n.at DESC, n.episode DESC LIMIT 1 OFFSET :per_key - 1), '')
    FROM json_each(:keys) AS k)
SELECT s.episode, s.reader, s.kind, s.key, s.session, s.at, s.ok, s.score, full.body
FROM ends
CROSS JOIN seen AS s ON s.scope = :scope AND s.reader = :reader AND s.key = ends.key
 AND (s.at, s.episode) >= (ends.at, ends.episode) AND s.at <= :until
CROSS JOIN seen AS full ON full.scope = s.scope AND full.episode = s.episode
 AND full.reader = s.reader AND full.kind = s.kind AND full.key = s.key;

-- name: get_seen
-- What a reader found in these episodes.
SELECT s.episode, s.reader, s.kind, s.key, s.session, s.at, s.ok, s.score, s.body
FROM json_each(:episodes) AS i
CROSS JOIN seen AS s ON s.scope = :scope AND s.episode = i.value AND s.reader = :reader;

-- name: get_uses
-- The last :cap uses of each record.
WITH ends (record, hour, kind) AS MATERIALIZED (
    SELECT i.value, coalesce((
        SELECT n.hour FROM use AS n
        WHERE n.scope = :scope AND n.record = i.value AND n.hour <= :until
        ORDER BY n.hour DESC, n.kind DESC LIMIT 1 OFFSET :cap - 1), -9223372036854775807),
     coalesce((
        SELECT n.kind FROM use AS n
        WHERE n.scope = :scope AND n.record = i.value AND n.hour <= :until
        ORDER BY n.hour DESC, n.kind DESC LIMIT 1 OFFSET :cap - 1), '')
    FROM json_each(:ids) AS i)
SELECT u.record, u.hour, u.kind, u.weight, u.spread_weight
FROM ends CROSS JOIN use AS u ON u.scope = :scope AND u.record = ends.record
 AND (u.hour, u.kind) >= (ends.hour, ends.kind) AND u.hour <= :until;

-- name: get_mention_uses
-- The times of each record's last :cap mentions and how often, in one array a record.
SELECT i.value, (SELECT json_group_array(json_array(found.at, found.count)) FROM (
    SELECT l.at, l.count FROM link AS l
    WHERE l.scope = :scope AND l.target = i.value AND l.kind = 'mentions' AND l.at <= :until
    ORDER BY l.at DESC, l.source DESC LIMIT :cap) AS found)
FROM json_each(:ids) AS i;

-- name: upsert_use
-- A use of an hour with its new weight: summed by the caller, since SQL rounds otherwise.
INSERT INTO use (scope, record, hour, kind, weight) VALUES (:scope, :record, :hour, :kind, :weight)
ON CONFLICT (scope, record, hour, kind) DO UPDATE SET weight = excluded.weight;

-- name: mark_use
-- How much of a use has spread.
UPDATE use SET spread_weight = :spread_weight
WHERE scope = :scope AND record = :record AND hour = :hour AND kind = :kind;

-- name: delete_use
-- A use that undo emptied.
DELETE FROM use
WHERE scope = :scope AND record = :record AND hour = :hour AND kind = :kind AND weight <= 0;

-- name: use_rows
-- Uses by key, for before-images.
SELECT u.record, u.hour, u.kind, u.weight, u.spread_weight FROM json_each(:rows) AS i
CROSS JOIN use AS u ON u.scope = :scope AND u.record = json_extract(i.value, '$[0]')
 AND u.hour = json_extract(i.value, '$[1]') AND u.kind = json_extract(i.value, '$[2]');

-- name: expiring_notes
-- Working notes that have expired, and how many.
SELECT r.scope, r.id, r.version, r.seq, r.kind, r.key, r.state, r.pinned, r.trust, r.strength,
       r.occurred_at, r.recorded_at, r.until, r.session, r.position, r.status, r.text, r.body, found.total
FROM (SELECT due.row, count(*) OVER () AS total FROM (
    SELECT m.row, m.until AS rank, m.id FROM record AS m INDEXED BY record_until
    WHERE m.scope = :scope AND m.kind = 'note' AND m.until IS NOT NULL AND m.until <= :before
      AND m.state = 'active' AND m.pinned = 0
      AND json_extract(m.body, '$.note_kind') = 'working'
      AND NOT EXISTS (
        SELECT 1 FROM change AS c INDEXED BY change_undone
        CROSS JOIN run AS n INDEXED BY run_facts ON n.scope = c.scope AND n.number = c.run
        WHERE c.scope = :scope AND c.phase = :phase AND c.group_id = m.id
          AND c.undone_by IS NOT NULL AND n.kind NOT IN ('undo', 'redo'))
    ORDER BY m.until, m.id LIMIT :most) AS due
    ORDER BY due.rank, due.id LIMIT :count) AS found
CROSS JOIN record AS r ON r.row = found.row;

-- name: expiring_facts
-- Facts that are past their end, but for those of an identity, and how many.
SELECT r.scope, r.id, r.version, r.seq, r.kind, r.key, r.state, r.pinned, r.trust, r.strength,
       r.occurred_at, r.recorded_at, r.until, r.session, r.position, r.status, r.text, r.body, found.total
FROM (SELECT due.row, count(*) OVER () AS total FROM (
    SELECT m.row, m.until AS rank, m.id FROM record AS m INDEXED BY record_until
    WHERE m.scope = :scope AND m.kind = 'fact' AND m.until IS NOT NULL AND m.until <= :before
      AND m.state = 'active' AND m.pinned = 0
      AND NOT coalesce(json_extract(m.body, '$.identity'), 0)
      AND NOT EXISTS (
        SELECT 1 FROM change AS c INDEXED BY change_undone
        CROSS JOIN run AS n INDEXED BY run_facts ON n.scope = c.scope AND n.number = c.run
        WHERE c.scope = :scope AND c.phase = :phase AND c.group_id = m.id
          AND c.undone_by IS NOT NULL AND n.kind NOT IN ('undo', 'redo'))
    ORDER BY m.until, m.id LIMIT :most) AS due
    ORDER BY due.rank, due.id LIMIT :count) AS found
CROSS JOIN record AS r ON r.row = found.row;

-- name: expiring_old
-- Episodes from before a time, and how many.
SELECT r.scope, r.id, r.version, r.seq, r.kind, r.key, r.state, r.pinned, r.trust, r.strength,
       r.occurred_at, r.recorded_at, r.until, r.session, r.position, r.status, r.text, r.body, found.total
FROM (SELECT due.row, count(*) OVER () AS total FROM (
    SELECT m.row, m.at AS rank, m.id FROM json_each('["active", "condensed"]') AS v
    CROSS JOIN record AS m INDEXED BY record_state
    WHERE m.scope = :scope AND m.kind = 'episode' AND m.state = v.value AND m.at < :before
      AND m.pinned = 0
      AND NOT EXISTS (
        SELECT 1 FROM change AS c INDEXED BY change_undone
        CROSS JOIN run AS n INDEXED BY run_facts ON n.scope = c.scope AND n.number = c.run
        WHERE c.scope = :scope AND c.phase = :phase AND c.group_id = m.id
          AND c.undone_by IS NOT NULL AND n.kind NOT IN ('undo', 'redo'))
    ORDER BY m.at, m.id LIMIT :most) AS due
    ORDER BY due.rank, due.id LIMIT :count) AS found
CROSS JOIN record AS r ON r.row = found.row;

-- name: expiring_weak
-- Derived records that nobody needs any more, and how many.
SELECT r.scope, r.id, r.version, r.seq, r.kind, r.key, r.state, r.pinned, r.trust, r.strength,
       r.occurred_at, r.recorded_at, r.until, r.session, r.position, r.status, r.text, r.body, found.total
FROM (SELECT due.row, count(*) OVER () AS total FROM (
    SELECT m.row, m.strength AS rank, m.id FROM record AS m INDEXED BY record_weak
    WHERE m.scope = :scope AND m.strength < :weaker_than AND m.state = 'active' AND m.pinned = 0
      AND m.kind IN ('entity', 'fact', 'summary', 'procedure')
      AND m.recorded_at <= :before AND (m.status IS NULL OR m.status = 'draft')
      AND NOT coalesce(json_extract(m.body, '$.identity'), 0)
      AND NOT EXISTS (
        SELECT 1 FROM use AS u WHERE u.scope = :scope AND u.record = m.id
          AND u.hour > :before_hour AND u.kind IN ('recalled', 'confirmed'))
      AND NOT EXISTS (
        SELECT 1 FROM link AS l WHERE l.scope = :scope AND l.target = m.id
          AND l.kind = 'mentions' AND l.at > :before)
      AND NOT EXISTS (
        SELECT 1 FROM json_each('["evidence", "summarises", "part_of"]') AS k
        CROSS JOIN link AS l ON l.scope = :scope AND l.target = m.id AND l.kind = k.value
        CROSS JOIN record AS s ON s.scope = l.scope AND s.id = l.source
        WHERE s.state IN ('active', 'condensed'))
      AND NOT EXISTS (
        SELECT 1 FROM change AS c INDEXED BY change_first
        CROSS JOIN run AS n INDEXED BY run_facts ON n.scope = c.scope AND n.number = c.run
        WHERE c.scope = :scope AND c.first = m.id AND c.relation = 'record'
          AND n.status IN ('committed', 'undone') AND n.clock > :before
          AND NOT (c.operation = 'edit' AND json_remove(c.after, '$.strength') = '{}'))
      AND NOT EXISTS (
        SELECT 1 FROM change AS c INDEXED BY change_undone
        CROSS JOIN run AS n INDEXED BY run_facts ON n.scope = c.scope AND n.number = c.run
        WHERE c.scope = :scope AND c.phase = :phase AND c.group_id = m.id
          AND c.undone_by IS NOT NULL AND n.kind NOT IN ('undo', 'redo'))
    ORDER BY m.strength, m.id LIMIT :most) AS due
    ORDER BY due.rank, due.id LIMIT :count) AS found
CROSS JOIN record AS r ON r.row = found.row;

-- name: get_windows
-- The mentions in stretches of sessions.
SELECT r.session, r.position, l.source, l.kind, l.target, l.count, l.at, l.version
FROM json_each(:windows) AS w
CROSS JOIN record AS r ON r.scope = :scope AND r.session = json_extract(w.value, '$[0]')
 AND r.position >= json_extract(w.value, '$[1]') * :length
 AND r.position < (json_extract(w.value, '$[1]') + 1) * :length
CROSS JOIN link AS l ON l.scope = r.scope AND l.source = r.id AND l.kind = 'mentions'
WHERE r.kind = 'episode' AND r.state <> 'forgotten' AND r.at <= :until;

-- name: kept_windows
-- What a reader has kept about windows.
SELECT s.episode, s.reader, s.kind, s.key, s.session, s.at, s.ok, s.score, s.body, s."window"
FROM json_each(:windows) AS w
CROSS JOIN seen AS s INDEXED BY seen_window ON s.scope = :scope AND s.reader = :reader
 AND s.session = json_extract(w.value, '$[0]') AND s."window" = json_extract(w.value, '$[1]')
WHERE s."window" IS NOT NULL;

-- name: window_counts
-- In how many windows each key stands, the newest :most.
SELECT k.value, (SELECT count(*) FROM (
    SELECT 1 FROM seen AS s INDEXED BY seen_member
    WHERE s.scope = :scope AND s.reader = :reader AND s.key = k.value AND s."window" IS NOT NULL
      AND s.session || char(31) || s."window" NOT IN (SELECT value FROM json_each(:without))
    ORDER BY s.at DESC, s.session DESC, s."window" DESC LIMIT :most))
FROM json_each(:keys) AS k;

-- name: newest_windows
-- The newest :most windows in which each key stands, in one array a key.
SELECT k.value, (
    SELECT json_group_array(json_array(one.session, one."window", one.at)) FROM (
        SELECT s.session, s."window", s.at FROM seen AS s INDEXED BY seen_member
        WHERE s.scope = :scope AND s.reader = :reader AND s.key = k.value
          AND s."window" IS NOT NULL
          AND s.session || char(31) || s."window" NOT IN (SELECT value FROM json_each(:without))
        ORDER BY s.at DESC, s.session DESC, s."window" DESC LIMIT :most) AS one)
FROM json_each(:keys) AS k;

-- name: window_members
-- Who stands in windows and was last mentioned when, in one object a window.
SELECT (SELECT json_group_object(s.key, s.at) FROM seen AS s INDEXED BY seen_window
    WHERE s.scope = :scope AND s.reader = :reader AND s.session = json_extract(w.value, '$[0]')
      AND s."window" = json_extract(w.value, '$[1]') AND s."window" IS NOT NULL)
FROM json_each(:windows) AS w;

-- name: window_readers
-- Who has kept something about windows.
WITH RECURSIVE readers (reader) AS (
    SELECT min(reader) FROM seen INDEXED BY seen_window
    WHERE scope = :scope AND "window" IS NOT NULL
    UNION ALL
    SELECT (SELECT min(reader) FROM seen INDEXED BY seen_window
            WHERE scope = :scope AND reader > readers.reader AND "window" IS NOT NULL)
    FROM readers WHERE readers.reader IS NOT NULL)
SELECT reader FROM readers WHERE reader IS NOT NULL;

-- name: window_episodes
-- The episodes that stand in windows.
SELECT r.id FROM json_each(:windows) AS w
CROSS JOIN record AS r ON r.scope = :scope AND r.session = json_extract(w.value, '$[0]')
 AND r.position >= json_extract(w.value, '$[1]') * :length
 AND r.position < (json_extract(w.value, '$[1]') + 1) * :length
WHERE r.kind = 'episode' AND r.state <> 'forgotten';

-- name: erase_window_member
-- What a reader had kept of a record that is gone.
DELETE FROM seen INDEXED BY seen_member
WHERE scope = ? AND reader = ? AND key = ? AND "window" IS NOT NULL;

-- name: delete_window
-- What a reader had kept about a window, before it is kept anew.
DELETE FROM seen WHERE scope = ? AND reader = ? AND session = ? AND "window" = ?
 AND "window" IS NOT NULL;

-- name: get_uncondensed
-- The oldest active episodes from before a time.
SELECT scope, id, version, seq, kind, key, state, pinned, trust, strength, occurred_at, recorded_at,
       until, session, position, status, text, body
FROM record WHERE scope = :scope AND kind = 'episode' AND state = 'active' AND at < :before
ORDER BY at, session, position, id LIMIT :count;

-- name: count_uncondensed
-- How many active episodes there are from before a time.
SELECT count(*) FROM record
WHERE scope = :scope AND kind = 'episode' AND state = 'active' AND at < :before;

-- name: get_answers
-- Stored answers among these questions.
SELECT a.question, a.body FROM json_each(:questions) AS i
CROSS JOIN answer AS a ON a.scope = :scope AND a.question = i.value;

-- name: upsert_answer
-- A collaborator's answer.
INSERT INTO answer (scope, question, collaborator, sources, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (scope, question) DO UPDATE SET body = excluded.body;

-- name: undone_groups
-- Per undone group among these, the greatest seq of the episodes its links named, or else what the
-- run could know. Left to itself the planner reads every change of the scope: it takes ten rows to
-- share one.
SELECT c.group_id, coalesce(max(r.seq), max(n.counter), 0)
FROM json_each(:ids) AS i
CROSS JOIN change AS c INDEXED BY change_undone
 ON c.scope = :scope AND c.phase = :phase AND c.group_id = i.value AND c.undone_by IS NOT NULL
CROSS JOIN run AS n INDEXED BY run_facts
 ON n.scope = c.scope AND n.number = c.run AND n.kind NOT IN ('undo', 'redo')
LEFT JOIN record AS r ON r.scope = c.scope AND r.id IN (c.first, c.second) AND r.kind = 'episode'
GROUP BY c.group_id;

-- name: undone_sources
-- The episodes that undone groups of a phase had changed.
SELECT DISTINCT c.first FROM change AS c INDEXED BY change_undone
CROSS JOIN run AS n INDEXED BY run_facts
 ON n.scope = c.scope AND n.number = c.run AND n.kind NOT IN ('undo', 'redo')
WHERE c.scope = :scope AND c.phase = :phase AND c.undone_by IS NOT NULL
  AND c.relation = 'record' AND c.operation = 'edit';

-- name: derived_of
-- Derived records that name one of these as evidence, source or mention.
SELECT DISTINCT r.scope, r.id, r.version, r.seq, r.kind, r.key, r.state, r.pinned, r.trust,
       r.strength, r.occurred_at, r.recorded_at, r.until, r.session, r.position, r.status, r.text,
       r.body
FROM json_each(:ids) AS i
CROSS JOIN link AS l ON l.scope = :scope AND l.target = i.value
 AND l.kind IN ('evidence', 'summarises')
CROSS JOIN record AS r ON r.scope = l.scope AND r.id = l.source
WHERE r.state <> 'forgotten'
UNION
SELECT DISTINCT r.scope, r.id, r.version, r.seq, r.kind, r.key, r.state, r.pinned, r.trust,
       r.strength, r.occurred_at, r.recorded_at, r.until, r.session, r.position, r.status, r.text,
       r.body
FROM json_each(:ids) AS i
CROSS JOIN link AS l ON l.scope = :scope AND l.source = i.value AND l.kind = 'mentions'
CROSS JOIN record AS r ON r.scope = l.scope AND r.id = l.target
WHERE r.state <> 'forgotten';

-- name: matching_rows
-- The newest rows of the text index that match an expression.
SELECT rowid FROM record_text WHERE record_text MATCH :expression ORDER BY rowid DESC LIMIT :most;

-- name: found_rows
-- Records by row, those of a stretch of time that recall may show.
SELECT r.row, r.scope, r.id, r.version, r.seq, r.kind, r.key, r.state, r.pinned, r.trust,
       r.strength, r.occurred_at, r.recorded_at, r.until, r.session, r.position, r.status, r.text,
       r.body
FROM json_each(:rows) AS f CROSS JOIN record AS r ON r.row = f.value
WHERE r.scope IN (SELECT value FROM json_each(:scopes)) AND r.state IN ('active', 'condensed')
  AND r.kind IN (SELECT value FROM json_each(:kinds)) AND r.at >= :since AND r.at < :until;

-- name: list_records
-- Visible records of some kinds, newest first.
SELECT r.scope, r.id, r.version, r.seq, r.kind, r.key, r.state, r.pinned, r.trust, r.strength,
       r.occurred_at, r.recorded_at, r.until, r.session, r.position, r.status, r.text, r.body
FROM json_each(:kinds) AS k CROSS JOIN json_each('["active", "condensed"]') AS v
CROSS JOIN record AS r ON r.scope = :scope AND r.kind = k.value AND r.state = v.value
WHERE :status IS NULL OR r.status = :status
ORDER BY r.at DESC, r.id LIMIT :count;

-- name: records_within
-- Visible records of some kinds from a stretch of time, newest first.
SELECT r.scope, r.id, r.version, r.seq, r.kind, r.key, r.state, r.pinned, r.trust, r.strength,
       r.occurred_at, r.recorded_at, r.until, r.session, r.position, r.status, r.text, r.body
FROM json_each(:scopes) AS p CROSS JOIN json_each(:kinds) AS k
CROSS JOIN json_each('["active", "condensed"]') AS v
CROSS JOIN record AS r ON r.scope = p.value AND r.kind = k.value AND r.state = v.value
WHERE r.at >= :since AND r.at < :until
ORDER BY r.at DESC, r.id LIMIT :count;

-- name: records_where
-- Ids of episodes of a session, for forgetting.
SELECT id FROM record WHERE scope = :scope AND session = :session AND state <> 'forgotten'
ORDER BY +id;

-- name: insert_run
-- A run's row.
INSERT INTO run (scope, number, kind, status, clock, settings, input, input_digest, output_digest,
                 report, counter)
VALUES (:scope, :number, :kind, :status, :clock, :settings, :input, :input_digest, :output_digest,
        :report, :counter);

-- name: update_report
-- A run's status and report.
UPDATE run SET status = :status, report = :report WHERE scope = :scope AND number = :number;

-- name: empty_plan
-- What a plan holds besides its changes.
UPDATE run SET input = '' WHERE scope = :scope AND number = :number;

-- name: get_report
-- A run's report alone.
SELECT report FROM run WHERE scope = :scope AND number = :number;

-- name: get_run
-- One run.
SELECT number, scope, kind, status, clock, input_digest, output_digest, settings, report, input,
       compacted
FROM run WHERE scope = :scope AND number = :number;

-- name: record_history
-- What records were before each edit or removal, the latest first, with the run's last version.
SELECT c.first, c.operation, c.from_version, c.before, n.counter FROM json_each(:ids) AS i
CROSS JOIN change AS c INDEXED BY change_first ON c.scope = :scope AND c.first = i.value
CROSS JOIN run AS n ON n.scope = c.scope AND n.number = c.run
WHERE c.relation = 'record' AND c.from_version IS NOT NULL
  AND n.status IN ('committed', 'undone')
ORDER BY c.first, c.from_version DESC;

-- name: held_run
-- The plan that waits for a person.
SELECT number, scope, kind, status, clock, input_digest, output_digest, settings, report, input,
       compacted
FROM run INDEXED BY run_status
WHERE scope = :scope AND kind = 'deep' AND status = 'held' ORDER BY number DESC LIMIT 1;

-- name: list_runs
-- The latest runs.
SELECT number, scope, kind, status, clock, input_digest, output_digest, settings, report, NULL,
       compacted
FROM run WHERE scope = :scope AND number > 0 ORDER BY number DESC LIMIT :count;

-- name: run_clocks
-- The clocks of the runs of a kind and the change counters they left, the latest first.
SELECT counter, clock FROM run INDEXED BY run_facts
WHERE scope = :scope AND number > 0 AND kind = :kind AND status IN ('committed', 'undone')
  AND counter IS NOT NULL
ORDER BY number DESC;

-- name: unslept_episodes
-- The times of episodes that none of these runs, as counter and clock, has come to.
SELECT r.at FROM json_each(:states) AS v
CROSS JOIN record AS r INDEXED BY record_state
 ON r.scope = :scope AND r.kind = 'episode' AND r.state = v.value AND r.at <= :until
WHERE NOT EXISTS (
    SELECT 1 FROM json_each(:slept) AS s
    WHERE json_extract(s.value, '$[0]') >= r.seq AND json_extract(s.value, '$[1]') >= r.at)
ORDER BY v.key, r.at;

-- name: unfinished_ingest
-- The latest interrupted ingest of a source.
SELECT number, report FROM run INDEXED BY run_status
WHERE scope = :scope AND kind = 'ingest' AND status = 'planned' AND input_digest = :source
ORDER BY number DESC LIMIT 1;

-- name: insert_change
-- A journal row.
INSERT INTO change (scope, run, seq, phase, group_kind, group_id, operation, relation, first,
                    second, row, from_version, before, after, reason)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: get_changes
-- A run's changes in order.
SELECT run, seq, phase, group_kind, group_id, operation, relation, row, before, after, reason,
       from_version, undone_by
FROM change WHERE scope = :scope AND run = :run ORDER BY seq;

-- name: delete_changes
-- A plan's changes.
DELETE FROM change WHERE scope = :scope AND run = :run;

-- name: mark_undone
-- Groups of a run are undone, or all of it.
UPDATE change SET undone_by = :by
WHERE scope = :scope AND run = :run AND undone_by IS NULL
  AND (:whole OR phase || '/' || group_kind || '/' || group_id IN (
    SELECT value FROM json_each(:groups)));

-- name: undone_by_run
-- The runs of which an undo took something back.
SELECT DISTINCT c.run FROM json_each(:groups) AS i
CROSS JOIN change AS c INDEXED BY change_undone
 ON c.scope = :scope AND c.phase = json_extract(i.value, '$[0]')
 AND c.group_id = json_extract(i.value, '$[1]') AND c.undone_by IS NOT NULL
WHERE c.undone_by = :by AND c.run <> :by;

-- name: mark_standing
-- What an undo took back of a run stands again.
UPDATE change SET undone_by = NULL WHERE scope = :scope AND run = :run AND undone_by = :by
  AND phase || '/' || group_kind || '/' || group_id NOT IN (SELECT value FROM json_each(:left));

-- name: standing_groups
-- The groups of a run that are not undone.
SELECT DISTINCT phase || '/' || group_kind || '/' || group_id FROM change
WHERE scope = :scope AND run = :run AND undone_by IS NULL;

-- name: mark_settled
-- The changes of a redo: an undo and its redo cancel out, and nothing builds on them.
UPDATE change SET undone_by = run WHERE scope = :scope AND run = :run;

-- name: any_standing
-- Whether a change of a run is not undone.
SELECT 1 FROM change WHERE scope = :scope AND run = :run AND undone_by IS NULL LIMIT 1;

-- name: later_changes
-- Standing changes of later runs that name these rows. Left to itself the planner reads all later
-- changes once for each row.
SELECT c.run, c.phase, c.group_kind, c.group_id, c.operation, c.relation, c.row, c.after
FROM json_each(:ids) AS i
CROSS JOIN change AS c INDEXED BY change_first
 ON c.scope = :scope AND c.first = i.value AND c.run >= :run
CROSS JOIN run AS r INDEXED BY run_facts ON r.scope = c.scope AND r.number = c.run
WHERE c.undone_by IS NULL AND r.status = 'committed' AND r.kind <> 'undo'
UNION
SELECT c.run, c.phase, c.group_kind, c.group_id, c.operation, c.relation, c.row, c.after
FROM json_each(:ids) AS i
CROSS JOIN change AS c INDEXED BY change_second
 ON c.scope = :scope AND c.second = i.value AND c.run >= :run
CROSS JOIN run AS r INDEXED BY run_facts ON r.scope = c.scope AND r.number = c.run
WHERE c.undone_by IS NULL AND r.status = 'committed' AND r.kind <> 'undo';

-- name: count_records
-- Records by kind and state.
SELECT kind, state, count(*) FROM record WHERE scope = :scope GROUP BY kind, state;

-- name: count_links
-- How many links a scope has.
SELECT count(*) FROM link WHERE scope = :scope;

-- name: dump_scope
-- A scope's rows of scope, for an export.
SELECT path, salt, half_life_hours, visible, counter, run_count, last_clock, deep_clock, settings
FROM scope WHERE path = :scope;

-- name: load_scope
-- A row of scope from an export; what is visible is counted as it comes in.
INSERT INTO scope (path, salt, half_life_hours, visible, counter, run_count, last_clock,
    deep_clock, settings)
VALUES (:path, :salt, :half_life_hours, 0, :counter, :run_count, :last_clock, :deep_clock,
    :settings);

-- name: drop_empty_scope
-- A scope in which nothing was ever written, before another is put in its place.
DELETE FROM scope WHERE path = :scope AND counter = 0 AND run_count = 0;

-- name: dump_record
-- A scope's rows of record, for an export.
SELECT scope, id, kind, key, state, version, seq, pinned, trust, strength, occurred_at,
    recorded_at, until, session, position, status, text, body, trace
FROM record WHERE scope = :scope
ORDER BY seq;

-- name: load_record
-- A row of record from an export; nothing where it is there.
INSERT INTO record (scope, id, kind, key, state, version, seq, pinned, trust, strength,
    occurred_at, recorded_at, until, session, position, status, text, body, trace)
VALUES (:scope, :id, :kind, :key, :state, :version, :seq, :pinned, :trust, :strength,
    :occurred_at, :recorded_at, :until, :session, :position, :status, :text, :body, :trace)
ON CONFLICT DO NOTHING;

-- name: dump_link
-- A scope's rows of link, for an export.
SELECT scope, source, kind, target, count, at, version
FROM link WHERE scope = :scope
ORDER BY source, kind, target;

-- name: load_link
-- A row of link from an export; nothing where it is there.
INSERT INTO link (scope, source, kind, target, count, at, version)
VALUES (:scope, :source, :kind, :target, :count, :at, :version)
ON CONFLICT DO NOTHING;

-- name: dump_seen
-- A scope's rows of seen, for an export.
SELECT scope, episode, reader, kind, key, session, "window", at, ok, score, body
FROM seen WHERE scope = :scope
ORDER BY episode, reader, kind, key;

-- name: load_seen
-- A row of seen from an export; nothing where it is there.
INSERT INTO seen (scope, episode, reader, kind, key, session, "window", at, ok, score, body)
VALUES (:scope, :episode, :reader, :kind, :key, :session, :window, :at, :ok, :score, :body)
ON CONFLICT DO NOTHING;

-- name: dump_answer
-- A scope's rows of answer, for an export.
SELECT scope, question, collaborator, sources, body
FROM answer WHERE scope = :scope
ORDER BY question;

-- name: load_answer
-- A row of answer from an export; nothing where it is there.
INSERT INTO answer (scope, question, collaborator, sources, body)
VALUES (:scope, :question, :collaborator, :sources, :body)
ON CONFLICT DO NOTHING;

-- name: dump_use
-- A scope's rows of use, for an export.
SELECT scope, record, hour, kind, weight, spread_weight
FROM use WHERE scope = :scope
ORDER BY record, hour, kind;

-- name: load_use
-- A row of use from an export; nothing where it is there.
INSERT INTO use (scope, record, hour, kind, weight, spread_weight)
VALUES (:scope, :record, :hour, :kind, :weight, :spread_weight)
ON CONFLICT DO NOTHING;

-- name: dump_pending
-- A scope's rows of pending, for an export.
SELECT scope, phase, at, record, stamp
FROM pending WHERE scope = :scope
ORDER BY phase, record;

-- name: load_pending
-- A row of pending from an export; nothing where it is there.
INSERT INTO pending (scope, phase, at, record, stamp)
VALUES (:scope, :phase, :at, :record, :stamp)
ON CONFLICT DO NOTHING;

-- name: dump_run
-- A scope's rows of run, for an export.
SELECT scope, number, kind, status, clock, settings, input, input_digest, output_digest, report,
    counter, compacted
FROM run WHERE scope = :scope
ORDER BY number;

-- name: load_run
-- A row of run from an export; nothing where it is there.
INSERT INTO run (scope, number, kind, status, clock, settings, input, input_digest, output_digest,
    report, counter, compacted)
VALUES (:scope, :number, :kind, :status, :clock, :settings, :input, :input_digest, :output_digest,
    :report, :counter, :compacted)
ON CONFLICT DO NOTHING;

-- name: dump_change
-- A scope's rows of change, for an export.
SELECT scope, run, seq, phase, group_kind, group_id, operation, relation, first, second, row,
    from_version, before, after, reason, undone_by
FROM change WHERE scope = :scope
ORDER BY run, seq;

-- name: load_change
-- A row of change from an export; nothing where it is there.
INSERT INTO change (scope, run, seq, phase, group_kind, group_id, operation, relation, first,
    second, row, from_version, before, after, reason, undone_by)
VALUES (:scope, :run, :seq, :phase, :group_kind, :group_id, :operation, :relation, :first,
    :second, :row, :from_version, :before, :after, :reason, :undone_by)
ON CONFLICT DO NOTHING;

-- name: runs_there
-- What tells the runs of a scope apart, to hold an export's against.
SELECT number, kind, status, clock, input_digest, output_digest FROM run WHERE scope = :scope;

-- name: evidence_of
-- The evidence of derived records.
SELECT l.source, l.target FROM json_each(:ids) AS i
CROSS JOIN link AS l ON l.scope = :scope AND l.source = i.value
 AND l.kind IN ('evidence', 'summarises')
UNION ALL
SELECT l.target, l.source FROM json_each(:ids) AS i
CROSS JOIN link AS l ON l.scope = :scope AND l.target = i.value AND l.kind = 'mentions';

-- name: entomb_record
-- What is left of a forgotten record: its id and, of a turn, a digest of what was said where.
UPDATE record SET state = 'forgotten', version = :version, key = NULL, text = NULL, body = NULL,
       session = NULL, position = NULL, occurred_at = NULL, until = NULL, status = NULL,
       strength = 0, pinned = 0, trace = :trace
WHERE scope = :scope AND id = :id;

-- name: erase_seen
-- Readings of a forgotten episode.
DELETE FROM seen WHERE scope = :scope AND episode = :id;

-- name: erase_answers
-- Answers about forgotten records; sources are short lists, read through once per forgetting.
DELETE FROM answer WHERE scope = :scope AND EXISTS (
    SELECT 1 FROM json_each(answer.sources) AS s
    WHERE s.value IN (SELECT value FROM json_each(:ids)));

-- name: erase_seen_with
-- Readings of later turns that point at a forgotten one.
DELETE FROM seen WHERE scope = :scope AND episode IN (SELECT value FROM json_each(:episodes))
 AND EXISTS (SELECT 1 FROM json_each(:ids) AS i WHERE instr(seen.body, i.value) > 0);

-- name: erase_use
-- Uses of a forgotten record.
DELETE FROM use WHERE scope = :scope AND record = :id;

-- name: erase_link_out
-- Links from a forgotten record.
DELETE FROM link WHERE scope = :scope AND source = :id;

-- name: erase_link_in
-- Links to a forgotten record.
DELETE FROM link WHERE scope = :scope AND target = :id;

-- name: summary_sources
-- The sources of a summary.
SELECT target FROM link WHERE scope = :scope AND source = :id AND kind = 'summarises';

-- name: release_source
-- A source whose summary is gone stands for itself again.
UPDATE record SET state = 'active', version = :version
WHERE scope = :scope AND id = :id AND state = 'condensed';

-- name: rewrite_record
-- A derived record rebuilt from the evidence that is left.
UPDATE record SET version = :version, text = :text, body = :body
WHERE scope = :scope AND id = :id;

-- name: seen_of_key
-- Readings of one key in some episodes.
SELECT s.body FROM json_each(:episodes) AS i
CROSS JOIN seen AS s ON s.scope = :scope AND s.episode = i.value
WHERE s.key = :key;

-- name: derived_in_journal
-- Records that the journal says were once derived from these, also those that an undo took away.
SELECT c.first FROM json_each(:ids) AS i
CROSS JOIN change AS c INDEXED BY change_second ON c.scope = :scope AND c.second = i.value
WHERE c.relation = 'link' AND json_extract(c.row, '$[1]') IN ('evidence', 'summarises')
UNION
SELECT c.second FROM json_each(:ids) AS i
CROSS JOIN change AS c INDEXED BY change_first ON c.scope = :scope AND c.first = i.value
WHERE c.relation = 'link' AND json_extract(c.row, '$[1]') = 'mentions';

-- name: scrub_images
-- The journal's images of records, strength alone excepted: it is a number and can be undone.
UPDATE change INDEXED BY change_first SET before = NULL, after = '{}', reason = NULL
WHERE scope = :scope AND first IN (SELECT value FROM json_each(:ids)) AND relation = 'record'
  AND (operation <> 'edit' OR json_remove(after, '$.strength') <> '{}');

-- name: scrub_reasons_first
-- The journal's reasons for rows about records.
UPDATE change SET reason = NULL
WHERE scope = :scope AND first IN (SELECT value FROM json_each(:ids));

-- name: scrub_reasons_second
-- The journal's reasons for links to records.
UPDATE change SET reason = NULL
WHERE scope = :scope AND second IN (SELECT value FROM json_each(:ids));

-- name: scrub_rows_first
-- All that the journal keeps of rows about forgotten records.
UPDATE change SET before = NULL, after = '{}', reason = NULL
WHERE scope = :scope AND first IN (SELECT value FROM json_each(:ids));

-- name: scrub_rows_second
-- All that the journal keeps of links to forgotten records.
UPDATE change SET before = NULL, after = '{}', reason = NULL
WHERE scope = :scope AND second IN (SELECT value FROM json_each(:ids));

-- name: scrub_scope
-- All that the journal keeps, where nothing of a scope is left.
UPDATE change SET before = NULL, after = '{}', reason = NULL
WHERE scope = :scope AND NOT EXISTS (
    SELECT 1 FROM record WHERE scope = :scope AND state <> 'forgotten');

-- name: runs_with_text
-- Runs whose reports may quote what was said.
SELECT number, status, report FROM run WHERE scope = :scope;

-- name: all_records
-- Every record of a scope that is not forgotten.
SELECT id FROM record WHERE scope = :scope AND state <> 'forgotten' ORDER BY id;

-- name: delete_run
-- A planned run's row, before it is written again as committed.
DELETE FROM run WHERE scope = :scope AND number = :number;

-- name: check_unindexed
-- Records whose text is not indexed.
SELECT 'The record ' || id || ' of scope ' || scope || ' is missing from the text index.'
FROM record WHERE state <> 'forgotten' AND row NOT IN (SELECT rowid FROM record_text) LIMIT 20;

-- name: check_dangling_links
-- Links from records that are not there; both ends of co_occurred may be an ancestor's.
SELECT 'A link in scope ' || l.scope || ' names the record ' || l.source || ', which is not there.'
FROM link AS l WHERE l.kind <> 'co_occurred' AND NOT EXISTS (
    SELECT 1 FROM record AS r WHERE r.scope = l.scope AND r.id = l.source) LIMIT 20;

-- name: check_json
-- Rows whose JSON cannot be read.
SELECT 'The run ' || scope || '#' || number || ' holds JSON that cannot be read.' FROM run
WHERE NOT (json_valid(settings) AND json_valid(report)
           AND (input IS NULL OR input = '' OR json_valid(input)))
UNION ALL
SELECT 'The record ' || id || ' of scope ' || scope || ' holds JSON that cannot be read.'
FROM record WHERE state <> 'forgotten' AND NOT json_valid(body)
UNION ALL
SELECT 'A change of run ' || scope || '#' || run || ' holds JSON that cannot be read.' FROM change
WHERE NOT (json_valid(row) AND (before IS NULL OR json_valid(before))
           AND (after IS NULL OR json_valid(after)))
UNION ALL
SELECT 'A reading of ' || reader || ' in scope ' || scope || ' holds JSON that cannot be read.'
FROM seen WHERE body IS NOT NULL AND NOT json_valid(body)
LIMIT 20;

-- name: check_visible
-- Scopes whose count of visible records is wrong.
SELECT 'The scope ' || s.path || ' counts ' || s.visible || ' visible records and has '
       || count(r.id) || '.'
FROM scope AS s LEFT JOIN record AS r ON r.scope = s.path AND r.state IN ('active', 'condensed')
GROUP BY s.path HAVING s.visible <> count(r.id);

-- name: recent_calls
-- The latest episodes of a session that hold tool calls, within a span of positions.
SELECT scope, id, version, seq, kind, key, state, pinned, trust, strength, occurred_at, recorded_at,
       until, session, position, status, text, body
FROM record WHERE scope = :scope AND session = :session
 AND position >= (SELECT max(position) FROM record WHERE scope = :scope AND session = :session)
                 - :span
 AND kind = 'episode' AND state <> 'forgotten' AND instr(body, '"calls":[') > 0
ORDER BY position DESC, seq DESC;

-- name: any_forgotten
-- Whether the scope has tombstones of episodes.
SELECT 1 FROM record WHERE scope = :scope AND kind = 'episode' AND state = 'forgotten' LIMIT 1;

-- name: forgotten_traces
-- Which of these digests a tombstone keeps.
SELECT DISTINCT r.trace FROM json_each(:traces) AS i
CROSS JOIN record AS r ON r.scope = :scope AND r.trace = i.value;

-- name: ids_like
-- Two ids between a beginning and the first text after it: ids are hexadecimal.
SELECT id FROM record WHERE scope = :scope AND id >= :from AND id < :to AND state <> 'forgotten'
ORDER BY id LIMIT 2;

-- name: told_count
-- The visible records of the visible scopes, less those that maintenance has derived.
SELECT coalesce((
    SELECT sum(s.visible) FROM json_each(:scopes) AS v CROSS JOIN scope AS s ON s.path = v.value), 0)
  - (SELECT count(*) FROM json_each(:scopes) AS v
     CROSS JOIN json_each('["entity", "fact", "summary", "procedure"]') AS k
     CROSS JOIN json_each('["active", "condensed"]') AS t
     CROSS JOIN record AS r ON r.scope = v.value AND r.kind = k.value AND r.state = t.value);

-- name: first_kept_run
-- The first run that is too young to be compacted. Kept plans and ingests have no history.
SELECT coalesce(min(number), :far) FROM run INDEXED BY run_facts
WHERE scope = :scope AND number > 0 AND clock >= :before AND kind <> 'ingest'
  AND status IN ('committed', 'undone');

-- name: old_runs
-- The runs before another that are not compacted, or not to the end.
SELECT number, kind FROM run INDEXED BY run_facts
WHERE scope = :scope AND number > 0 AND number < :end AND compacted <> 1 AND kind <> 'ingest'
  AND status IN ('committed', 'undone')
ORDER BY number;

-- name: mark_compacted
-- A run that is neither undone nor replayed any more.
UPDATE run SET input = NULL, compacted = :compacted WHERE scope = :scope AND number = :number;

-- name: journal_slice
-- Where the next rows of a run's journal end, and how many they are.
SELECT max(seq), count(*) FROM (
    SELECT seq FROM change WHERE scope = :scope AND run = :run AND seq > :after
    ORDER BY seq LIMIT :count) AS one;

-- name: drop_changes
-- Journal rows that nobody asks for once their run cannot be undone.
DELETE FROM change
WHERE scope = :scope AND run = :run AND seq > :after AND seq <= :until AND NOT :told
  AND NOT (relation = 'record' AND operation = 'edit'
           AND coalesce(json_extract(after, '$.state'), '')
               IN ('archived', 'merged', 'superseded', 'retracted'))
  AND (undone_by IS NULL OR :taken_back OR relation = 'use'
       OR (operation = 'edit' AND json_remove(coalesce(after, '{}'), '$.strength') = '{}'
           AND coalesce(after, '{}') <> '{}'));

-- name: empty_changes
-- What is left of a compacted run's journal: that a group was undone; what a person did, and what
-- hid a record, with the reason.
UPDATE change SET before = NULL,
    after = CASE WHEN :told OR json_extract(after, '$.state') IN (
                'archived', 'merged', 'superseded', 'retracted')
                 AND relation = 'record' AND operation = 'edit' THEN after ELSE '{}' END,
    reason = CASE WHEN :told OR json_extract(after, '$.state') IN (
                'archived', 'merged', 'superseded', 'retracted')
                  AND relation = 'record' AND operation = 'edit' THEN reason END
WHERE scope = :scope AND run = :run AND seq > :after AND seq <= :until;

-- name: first_kept_use
-- The earliest hour of a use that a run which can be undone has written or spread.
SELECT min(json_extract(row, '$[1]')) FROM change
WHERE scope = :scope AND run >= :run AND relation = 'use';

-- name: foldable_records
-- The next records with several uses from before an hour.
SELECT record FROM use WHERE scope = :scope AND record > :after AND hour < :before
GROUP BY record HAVING count(*) > 1 ORDER BY record LIMIT :count;

-- name: foldable_uses
-- The uses of records from before an hour.
SELECT u.record, u.hour, u.weight FROM json_each(:ids) AS i
CROSS JOIN use AS u ON u.scope = :scope AND u.record = i.value AND u.hour < :before
ORDER BY u.record, u.hour, u.kind;

-- name: delete_folded
-- Uses that are folded into one.
DELETE FROM use WHERE scope = :scope AND record IN (SELECT value FROM json_each(:ids))
 AND hour < :before;

-- name: insert_base
-- Uses folded into one, all of it spread.
INSERT INTO use (scope, record, hour, kind, weight, spread_weight)
VALUES (:scope, :record, :hour, 'base', :weight, :weight);

-- name: compacted_runs
-- The runs whose history is compacted.
SELECT number FROM run INDEXED BY run_facts
WHERE scope = :scope AND number > 0 AND compacted > 0;

-- name: use_span
-- The first hour of a record's uses, and the last one that was folded.
SELECT min(hour), max(CASE kind WHEN 'base' THEN hour END) FROM use
WHERE scope = :scope AND record = :record;

-- name: strengths_after
-- The next records with what their strength is made of.
SELECT id, at, strength FROM record
WHERE scope = :scope AND id > :after AND state <> 'forgotten' ORDER BY id LIMIT :count;

-- name: set_half_life
-- The rate at which a scope fades.
UPDATE scope SET half_life_hours = :half_life_hours WHERE path = :scope;

-- name: renumber_record
-- A record that was changed by what took it in.
UPDATE record SET version = :version WHERE scope = :scope AND id = :id;

-- name: get_embedder
-- The embedder whose vectors a scope has.
SELECT name, version, dimensions, changed FROM embedder WHERE scope = :scope;

-- name: visible_embedders
-- The scopes whose vectors come from this embedder, and how often they changed.
SELECT e.scope, e.changed FROM json_each(:scopes) AS v CROSS JOIN embedder AS e ON e.scope = v.value
WHERE e.name = :name AND e.version = :version AND e.dimensions = :dimensions;

-- name: put_embedder
-- Another embedder of a scope; what changed goes on counting.
INSERT INTO embedder (scope, name, version, dimensions, changed)
VALUES (:scope, :name, :version, :dimensions, 1)
ON CONFLICT (scope) DO UPDATE SET name = excluded.name, version = excluded.version,
    dimensions = excluded.dimensions, changed = changed + 1;

-- name: delete_vectors
-- All vectors of a scope.
DELETE FROM vector WHERE scope = :scope;

-- name: delete_unembedded
-- What of a scope was to get a vector.
DELETE FROM unembedded WHERE scope = :scope;

-- name: queue_unembedded
-- Everything that may be recalled is to get a vector.
INSERT INTO unembedded (scope, row)
SELECT scope, row FROM record
WHERE scope = :scope AND kind <> 'entity' AND state <> 'forgotten';

-- name: list_unembedded
-- Visible records that are to get a vector, oldest first.
SELECT r.scope, r.id, r.version, r.seq, r.kind, r.key, r.state, r.pinned, r.trust, r.strength,
       r.occurred_at, r.recorded_at, r.until, r.session, r.position, r.status, r.text, r.body
FROM unembedded AS u CROSS JOIN record AS r ON r.row = u.row
WHERE u.scope = :scope AND r.state IN ('active', 'condensed')
ORDER BY u.row LIMIT :count;

-- name: count_vectors
-- How many records have a vector, and how many are to get one.
SELECT (SELECT count(*) FROM vector WHERE scope = :scope),
       (SELECT count(*) FROM unembedded WHERE scope = :scope);

-- name: unembedded_rows
-- Which of these records are to get a vector and are as they were, with their rows.
SELECT r.id, r.row FROM json_each(:records) AS i
CROSS JOIN record AS r ON r.scope = :scope AND r.id = json_extract(i.value, '$[0]')
CROSS JOIN unembedded AS u ON u.scope = r.scope AND u.row = r.row
WHERE r.version = json_extract(i.value, '$[1]');

-- name: insert_vector
-- A record's vector.
INSERT INTO vector (row, scope, value) VALUES (:row, :scope, :value);

-- name: delete_embedded
-- A record that has its vector now.
DELETE FROM unembedded WHERE scope = :scope AND row = :row;

-- name: scope_vectors
-- A scope's vectors from a row on, in order of row.
SELECT row, value FROM vector INDEXED BY vector_scope WHERE scope = :scope AND row > :after
ORDER BY row LIMIT :count;

-- name: record_vectors
-- The vectors of these records.
SELECT r.id, v.value FROM json_each(:ids) AS i
CROSS JOIN json_each(:scopes) AS s
CROSS JOIN record AS r ON r.scope = s.value AND r.id = i.value
CROSS JOIN vector AS v ON v.row = r.row;

-- name: check_vectors
-- Vectors without a record, in another scope than it, or of another length than their embedder's.
SELECT 'The vector of row ' || v.row || ' in ' || v.scope || ' belongs to no record there.'
FROM vector AS v LEFT JOIN record AS r ON r.row = v.row AND r.scope = v.scope
WHERE r.row IS NULL OR r.state = 'forgotten'
UNION ALL
SELECT 'The vector of row ' || v.row || ' in ' || v.scope || ' has ' || length(v.value)
       || ' bytes; run: symfonic-memory embed --scope ' || v.scope || ' --again'
FROM vector AS v LEFT JOIN embedder AS e ON e.scope = v.scope
WHERE length(v.value) IS NOT 4 * e.dimensions;
