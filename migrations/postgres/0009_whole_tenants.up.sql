-- Of a whole tenant, which may be very many namespaces: records by their ids, and those of a stretch of time.
CREATE INDEX records_by_id ON records (id);
CREATE INDEX records_by_moment ON records (occurred_at);
