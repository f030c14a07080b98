-- pre: vectors of records, from one embedder a scope.

-- The embedder whose vectors a scope has; none by the name ''. What changes its vectors counts up.
CREATE TABLE embedder (
    scope TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    changed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A record's vector, of unit length: 32-bit floats, least byte first.
CREATE TABLE vector (
    row INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    value BLOB NOT NULL
) STRICT;
CREATE INDEX vector_scope ON vector (scope, row);

-- Records that are to get a vector. Triggers keep the three tables right, so that no statement that
-- writes a text, erases one or takes a record away can leave its vector behind.
CREATE TABLE unembedded (
    scope TEXT NOT NULL,
    row INTEGER NOT NULL,
    PRIMARY KEY (scope, row)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER record_added AFTER INSERT ON record
WHEN NEW.kind <> 'entity' AND NEW.state <> 'forgotten'
BEGIN
    INSERT INTO unembedded (scope, row)
    SELECT NEW.scope, NEW.row FROM embedder WHERE scope = NEW.scope AND name <> '';
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

CREATE TRIGGER record_removed AFTER DELETE ON record
WHEN OLD.kind <> 'entity'
BEGIN
    UPDATE embedder SET changed = changed + 1 WHERE scope = OLD.scope;
    DELETE FROM vector WHERE row = OLD.row;
    DELETE FROM unembedded WHERE scope = OLD.scope AND row = OLD.row;
END;
