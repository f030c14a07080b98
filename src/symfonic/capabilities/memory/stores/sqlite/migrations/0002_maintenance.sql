-- pre: what the whole maintenance run needs: windows of conversation, expiry, compacted runs.

-- The scope's change counter after a run: what came later is later evidence.
ALTER TABLE run ADD COLUMN counter INTEGER;
ALTER TABLE run ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0;

CREATE INDEX seen_window ON seen (scope, reader, session, "window", key, at)
WHERE "window" IS NOT NULL;
CREATE INDEX seen_member ON seen (scope, reader, key, at, session, "window")
WHERE "window" IS NOT NULL;

CREATE INDEX record_until ON record (scope, kind, until, id)
WHERE until IS NOT NULL AND state = 'active' AND pinned = 0;
CREATE INDEX record_weak ON record (scope, strength, id)
WHERE state = 'active' AND pinned = 0 AND kind IN ('entity', 'fact', 'summary', 'procedure');

-- Mentions that were linked before anybody counted which names stand together.
INSERT INTO pending (scope, phase, at, record, stamp)
SELECT DISTINCT l.scope, 'link_cooccurring', r.at, r.id, s.counter
FROM link AS l
JOIN record AS r ON r.scope = l.scope AND r.id = l.source
JOIN scope AS s ON s.path = l.scope
WHERE l.kind = 'mentions' AND r.state <> 'forgotten';
