CREATE TRIGGER record_added AFTER INSERT ON record
WHEN NEW.kind <> 'entity' AND NEW.state <> 'forgotten'
BEGIN
    INSERT INTO unembedded (scope, row)
    SELECT NEW.scope, NEW.row FROM embedder WHERE scope = NEW.scope AND name <> '';
END;

CREATE TRIGGER record_removed AFTER DELETE ON record
WHEN OLD.kind <> 'entity'
BEGIN
    UPDATE embedder SET changed = changed + 1 WHERE scope = OLD.scope;
    DELETE FROM vector WHERE row = OLD.row;
    DELETE FROM unembedded WHERE scope = OLD.scope AND row = OLD.row;
END;

CREATE TRIGGER record_reworded AFTER UPDATE OF text, body ON record
WHEN NEW.kind <> 'entity' AND (NEW.text IS NOT OLD.text
    OR (coalesce(NEW.text, '') = '' AND NEW.body IS NOT OLD.body))
BEGIN
    UPDATE embedder SET changed = changed + 1 WHERE scope = NEW.scope;
    DELETE FROM vector WHERE row = NEW.row;
    DELETE FROM unembedded WHERE scope = NEW.scope AND row = NEW.row;
    INSERT INTO unembedded (scope, row)
    SELECT NEW.scope, NEW.row FROM embedder
    WHERE scope = NEW.scope AND name <> '' AND NEW.state <> 'forgotten';
END;

CREATE TABLE answer (
    scope TEXT NOT NULL,
    question TEXT NOT NULL,
    collaborator TEXT NOT NULL,
    sources TEXT NOT NULL,
    body TEXT,
    PRIMARY KEY (scope, question)
) STRICT, WITHOUT ROWID;

CREATE TABLE change (
    scope TEXT NOT NULL,
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    phase TEXT NOT NULL,
    group_kind TEXT NOT NULL,
    group_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    relation TEXT NOT NULL,
    first TEXT NOT NULL,
    second TEXT,
    row TEXT NOT NULL,
    from_version INTEGER,
    before TEXT,
    after TEXT,
    reason TEXT,
    undone_by INTEGER,
    PRIMARY KEY (scope, run, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE embedder (
    scope TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    changed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE link (
    scope TEXT NOT NULL,
    source TEXT NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    count INTEGER NOT NULL,
    at INTEGER NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (scope, source, kind, target)
) STRICT, WITHOUT ROWID;

CREATE TABLE pending (
    scope TEXT NOT NULL,
    phase TEXT NOT NULL,
    at INTEGER NOT NULL,
    record TEXT NOT NULL,
    stamp INTEGER NOT NULL,
    PRIMARY KEY (scope, phase, record)
) STRICT, WITHOUT ROWID;

CREATE TABLE record (
    row INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT,
    state TEXT NOT NULL,
    version INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    pinned INTEGER NOT NULL DEFAULT 0,
    trust TEXT NOT NULL,
    strength INTEGER NOT NULL,
    occurred_at INTEGER,
    recorded_at INTEGER NOT NULL,
    until INTEGER,
    session TEXT,
    position INTEGER,
    status TEXT,
    text TEXT,
    body TEXT,
    trace TEXT,
    at INTEGER NOT NULL GENERATED ALWAYS AS (
        CASE WHEN occurred_at IS NULL OR occurred_at > recorded_at
             THEN recorded_at ELSE occurred_at END
    ) VIRTUAL
) STRICT;

CREATE VIRTUAL TABLE record_text USING fts5 (
    scope, text, tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TABLE 'record_text_config'(k PRIMARY KEY, v) WITHOUT ROWID;

CREATE TABLE 'record_text_content'(id INTEGER PRIMARY KEY, c0, c1);

CREATE TABLE 'record_text_data'(id INTEGER PRIMARY KEY, block BLOB);

CREATE TABLE 'record_text_docsize'(id INTEGER PRIMARY KEY, sz BLOB);

CREATE TABLE 'record_text_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;

CREATE TABLE run (
    scope TEXT NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    clock INTEGER NOT NULL,
    settings TEXT NOT NULL,
    input TEXT,
    input_digest TEXT NOT NULL,
    output_digest TEXT NOT NULL,
    report TEXT NOT NULL, counter INTEGER, compacted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE scope (
    path TEXT NOT NULL PRIMARY KEY,
    salt BLOB NOT NULL,
    half_life_hours REAL NOT NULL,
    visible INTEGER NOT NULL DEFAULT 0,
    counter INTEGER NOT NULL DEFAULT 0,
    run_count INTEGER NOT NULL DEFAULT 0,
    last_clock INTEGER,
    deep_clock INTEGER,
    settings TEXT NOT NULL DEFAULT '{}',
    lease_holder TEXT,
    lease_until INTEGER,
    fence INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE seen (
    scope TEXT NOT NULL,
    episode TEXT NOT NULL,
    reader TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    session TEXT NOT NULL,
    "window" INTEGER,
    at INTEGER NOT NULL,
    ok INTEGER,
    score REAL NOT NULL,
    body TEXT,
    PRIMARY KEY (scope, episode, reader, kind, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE unembedded (
    scope TEXT NOT NULL,
    row INTEGER NOT NULL,
    PRIMARY KEY (scope, row)
) STRICT, WITHOUT ROWID;

CREATE TABLE use (
    scope TEXT NOT NULL,
    record TEXT NOT NULL,
    hour INTEGER NOT NULL,
    kind TEXT NOT NULL,
    weight REAL NOT NULL,
    spread_weight REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, record, hour, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE vector (
    row INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    value BLOB NOT NULL
) STRICT;

CREATE INDEX change_first ON change (scope, first, run);

CREATE INDEX change_second ON change (scope, second, run) WHERE second IS NOT NULL;

CREATE INDEX change_undone ON change (scope, phase, group_id) WHERE undone_by IS NOT NULL;

CREATE INDEX link_target ON link (scope, target, kind, at, source, count);

CREATE INDEX pending_at ON pending (scope, phase, at, record, stamp);

CREATE UNIQUE INDEX record_id ON record (scope, id);

CREATE INDEX record_session ON record (scope, session, position) WHERE session IS NOT NULL;

CREATE INDEX record_state ON record (scope, kind, state, at, id);

CREATE INDEX record_trace ON record (scope, trace) WHERE trace IS NOT NULL;

CREATE INDEX record_until ON record (scope, kind, until, id)
WHERE until IS NOT NULL AND state = 'active' AND pinned = 0;

CREATE INDEX record_weak ON record (scope, strength, id)
WHERE state = 'active' AND pinned = 0 AND kind IN ('entity', 'fact', 'summary', 'procedure');

CREATE INDEX run_facts ON run (scope, number, status, kind, clock, counter, compacted);

CREATE INDEX run_status ON run (scope, kind, status, number);

CREATE INDEX seen_key ON seen (scope, reader, key, at, episode, session, score, ok);

CREATE INDEX seen_member ON seen (scope, reader, key, at, session, "window")
WHERE "window" IS NOT NULL;

CREATE INDEX seen_window ON seen (scope, reader, session, "window", key, at)
WHERE "window" IS NOT NULL;

CREATE INDEX vector_scope ON vector (scope, row);
