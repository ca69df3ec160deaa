-- What active records say about entities and relations. An entity is the hash of its owner and its folded name; a row stands
-- beside its record and goes with it, so that an entity is there for as long as a record in sight names it.

CREATE TABLE graph_entities (
    ns      uuid NOT NULL,
    id      uuid NOT NULL,
    entity  uuid NOT NULL,
    address uuid NOT NULL,
    name    text COLLATE "C" NOT NULL,
    kind    text COLLATE "C" NOT NULL,
    PRIMARY KEY (ns, id, entity),
    FOREIGN KEY (ns, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
CREATE INDEX graph_entities_by_entity ON graph_entities (ns, entity);

-- What else a record calls an entity; `alias` is the entity that would go by that name.
CREATE TABLE graph_aliases (
    ns      uuid NOT NULL,
    id      uuid NOT NULL,
    entity  uuid NOT NULL,
    alias   uuid NOT NULL,
    address uuid NOT NULL,
    name    text COLLATE "C" NOT NULL,
    PRIMARY KEY (ns, id, entity, alias),
    FOREIGN KEY (ns, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
CREATE INDEX graph_aliases_by_entity ON graph_aliases (ns, entity);
CREATE INDEX graph_aliases_by_alias ON graph_aliases (ns, alias);

-- The record is the evidence; `number` counts its relations. Its own validity holds for edges that say nothing of theirs.
CREATE TABLE graph_edges (
    ns          uuid NOT NULL,
    id          uuid NOT NULL,
    number      integer NOT NULL,
    source      uuid NOT NULL,
    relation    text COLLATE "C" NOT NULL,
    target      uuid NOT NULL,
    address     uuid NOT NULL,
    valid_from  bigint,
    valid_until bigint,
    PRIMARY KEY (ns, id, number),
    FOREIGN KEY (ns, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
CREATE INDEX graph_edges_by_source ON graph_edges (ns, source);
CREATE INDEX graph_edges_by_target ON graph_edges (ns, target);
