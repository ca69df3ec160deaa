// Numbers, times and sizes in the language of the page.

import { language } from './texts.js';

const locale = () => (language() === 'zh' ? 'zh-CN' : 'en-GB');

/** Formats a number with separators: `12,345`. */
export function formatNumber(value, digits = 0) {
  return new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(value);
}

/** Formats a share from 0 to 1 as a percentage. */
export function formatPercent(share) {
  return new Intl.NumberFormat(locale(), { style: 'percent', maximumFractionDigits: 1 }).format(share);
}

/** Formats an RFC 3339 time as date and minute in the time zone of the browser. */
export function formatTime(time) {
  if (!time) return '–';
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return String(time);
  return new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'short' }).format(date);
}

/** Formats a `Date` as the time of day with seconds. */
export function formatClock(date) {
  return new Intl.DateTimeFormat(locale(), { timeStyle: 'medium' }).format(date);
}

/** Formats an RFC 3339 time as a date in the time zone of the browser. */
export function formatDate(time) {
  if (!time) return '–';
  return new Intl.DateTimeFormat(locale(), { dateStyle: 'medium' }).format(new Date(time));
}

/** Formats a date for an axis whose marks are `step` seconds apart: a year, a month, a day or a minute. */
export function formatTick(date, step) {
  const days = step / (24 * 60 * 60);
  const options = days >= 365 ? { year: 'numeric' }
    : days >= 28 ? { year: 'numeric', month: 'short' }
    : days >= 1 ? { month: 'short', day: 'numeric' }
    : { hour: '2-digit', minute: '2-digit' };
  return new Intl.DateTimeFormat(locale(), options).format(date);
}

/** Formats a duration in milliseconds: `0.42 ms`, `12 ms`, `3.1 s`. */
export function formatDuration(ms) {
  if (ms === undefined || ms === null) return '–';
  if (ms < 10) return `${formatNumber(ms, 2)} ms`;
  if (ms < 1000) return `${formatNumber(ms)} ms`;
  return `${formatNumber(ms / 1000, 1)} s`;
}

/** Formats a size in bytes with a binary unit: `1.5 MiB`. */
export function formatBytes(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${formatNumber(value, unit === 0 ? 0 : 1)} ${units[unit]}`;
}
