-- Nothing to undo: triggers keep the counts. A migration has at least one statement.
DO $$ BEGIN NULL; END $$;
