// Live updates: what is shown is read again when another program has written something.

import { useEffect, useRef } from './ui.js';
import { announceStored, onWritten, useGet } from './api.js';

const POLL_MS = 5000;

/**
 * Returns the numbers of records of a user, and reads them again and again while the tab is visible. A change is
 * announced. They are those of the overview, because a list would be an export in the audit log.
 */
export function useCounts(owner) {
  const read = useGet('/api/inspector/overview', { user_id: owner.user_id });
  const { reload } = read;
  const last = useRef(null);
  useEffect(() => {
    const again = () => document.hidden || reload();
    const timer = setInterval(again, POLL_MS);
    document.addEventListener('visibilitychange', again);
    // A view that writes reads again by itself.
    const end = onWritten(() => {
      last.current = null;
      reload();
    });
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', again);
      end();
    };
  }, [reload]);
  useEffect(() => {
    if (!read.data) return;
    const counts = JSON.stringify([owner.user_id, read.data.totals]);
    const earlier = last.current;
    last.current = counts;
    if (earlier !== null && JSON.parse(earlier)[0] === JSON.parse(counts)[0] && earlier !== counts) announceStored();
  }, [read.data]);
  return read.data?.totals ?? null;
}
