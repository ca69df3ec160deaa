DELETE FROM origins WHERE part IN ('store id', 'side files');
ALTER TABLE changes DROP COLUMN mark;
