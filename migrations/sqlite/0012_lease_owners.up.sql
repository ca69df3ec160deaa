-- The store that claimed an item. NULL while the item is free or waits for a retry, and where an earlier version claimed it.
ALTER TABLE backlog ADD COLUMN owner INTEGER;
-- The stores that may hold leases. Each holds a lock on a file of its own next to the database until it is closed or its process
-- ends.
CREATE TABLE lease_owners (
    owner INTEGER PRIMARY KEY
) STRICT;
