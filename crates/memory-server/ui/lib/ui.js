// What every module builds elements with: Preact with its hooks, and templates instead of JSX.

import { h, render, Fragment } from '../vendor/preact.js';
import htm from '../vendor/htm.js';

export {
  useCallback, useEffect, useId, useLayoutEffect, useMemo, useReducer, useRef, useState,
} from '../vendor/hooks.js';
export { h, render, Fragment };

/** Builds elements from a template. Values in it become text nodes and attributes, never HTML. */
export const html = htm.bind(h);
