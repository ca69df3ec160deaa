-- What active records say about entities and relations. An entity is the hash of its owner and its folded name; a row stands
-- beside its record and goes with it, so that an entity is there for as long as a record in sight names it.

CREATE TABLE graph_entities (
    record INTEGER NOT NULL REFERENCES records,
    entity BLOB NOT NULL CHECK (length(entity) = 16),
    scope  INTEGER NOT NULL REFERENCES scopes,
    name   TEXT NOT NULL,
    kind   TEXT NOT NULL,
    PRIMARY KEY (record, entity)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_entities_by_entity ON graph_entities (entity, record);

-- What else a record calls an entity; `alias` is the entity that would go by that name.
CREATE TABLE graph_aliases (
    record INTEGER NOT NULL REFERENCES records,
    entity BLOB NOT NULL CHECK (length(entity) = 16),
    alias  BLOB NOT NULL CHECK (length(alias) = 16),
    scope  INTEGER NOT NULL REFERENCES scopes,
    name   TEXT NOT NULL,
    PRIMARY KEY (record, entity, alias)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_aliases_by_entity ON graph_aliases (entity);
CREATE INDEX graph_aliases_by_alias ON graph_aliases (alias);

-- The record is the evidence. Its own validity holds for edges that say nothing of theirs.
CREATE TABLE graph_edges (
    edge        INTEGER PRIMARY KEY,
    record      INTEGER NOT NULL REFERENCES records,
    source      BLOB NOT NULL CHECK (length(source) = 16),
    relation    TEXT NOT NULL,
    target      BLOB NOT NULL CHECK (length(target) = 16),
    scope       INTEGER NOT NULL REFERENCES scopes,
    valid_from  INTEGER,
    valid_until INTEGER
) STRICT;
CREATE INDEX graph_edges_by_record ON graph_edges (record);
CREATE INDEX graph_edges_by_source ON graph_edges (source);
CREATE INDEX graph_edges_by_target ON graph_edges (target);
