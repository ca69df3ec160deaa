-- What was decided about pairs of words that were suggested as synonyms. Both words are folded, the lesser one first.
CREATE TABLE synonym_verdicts (
    ns       uuid NOT NULL REFERENCES namespaces,
    first    text COLLATE "C" NOT NULL,
    second   text COLLATE "C" NOT NULL,
    accepted boolean NOT NULL,
    PRIMARY KEY (ns, first, second),
    CHECK (first < second)
) /* by namespace */;
