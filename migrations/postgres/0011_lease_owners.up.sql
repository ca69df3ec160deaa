-- The store that claimed an item. NULL while the item is free or waits for a retry, and where an earlier version claimed it.
ALTER TABLE backlog ADD COLUMN owner bigint;
-- The stores that may hold leases. Each holds the advisory lock of its number until its session ends.
CREATE TABLE lease_owners (
    owner bigint PRIMARY KEY
);
