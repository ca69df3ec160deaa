// Line charts. The library is loaded when the first chart is shown.

import { html, useEffect, useRef, useState } from './ui.js';
import { useTexts } from './texts.js';
import { formatTick } from './format.js';
import { onThemeChanged } from './theme.js';
import { Table } from './components.js';

const texts = {
  en: { table: 'Show as a table', chart: 'Show as a chart' },
  zh: { table: '以表格显示', chart: '以图表显示' },
};

let library = null;

/** Loads uPlot and its style sheet once. */
function loadLibrary() {
  library ??= new Promise((resolve, reject) => {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = new URL('../vendor/uplot.css', import.meta.url).href;
    document.head.append(link);
    import('../vendor/uplot.js').then((module) => resolve(module.default), reject);
  });
  return library;
}

const DAY_SECONDS = 24 * 60 * 60;
/** Distances of the labels of whole numbers. */
const WHOLE_STEPS = [1, 2, 5].flatMap((digit) => Array.from({ length: 12 }, (_, power) => digit * 10 ** power))
  .sort((a, b) => a - b);

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * A line chart over time, with a table of the same figures as the alternative.
 *
 * `times` are seconds since 1970; `series` is a list of `{ label, values, color }`, where `color` is the name of a CSS
 * variable such as `--series-1`. `format(value)` writes a value, `formatTime(seconds)` a time in the table. With
 * `isCount` the values are whole numbers, and the axis begins at 0.
 */
export function LineChart({
  title, times, series, format = String, formatTime, height = 240, markers = [], isCount = false,
}) {
  const t = useTexts(texts);
  const [asTable, setAsTable] = useState(false);
  const rows = times.map((time, index) => ({ time, index }));
  const columns = [
    { name: 'time', title: '', cell: (row) => formatTime(row.time) },
    ...series.map((one) => ({ title: one.label, align: 'end', cell: (row) => format(one.values[row.index]) })),
  ];
  return html`<figure class="chart" aria-label=${title}>
    ${asTable
      ? html`<${Table} caption=${title} columns=${columns} rows=${rows} />`
      : html`<${Plot} times=${times} series=${series} format=${format} height=${height} markers=${markers}
        isCount=${isCount} />`}
    <figcaption><ul class="legend">${series.map((one) => html`<li><span class="swatch" aria-hidden="true"
        style=${{ background: `var(${one.color})` }}></span>${one.label}</li>`)}</ul>
      <button type="button" class="link"
        onClick=${() => setAsTable(!asTable)}>${t(asTable ? 'chart' : 'table')}</button>
    </figcaption>
  </figure>`;
}

function Plot({ times, series, format, height, markers, isCount }) {
  const holder = useRef(null);
  useEffect(() => {
    // When the chart is removed, the reference is cleared before this effect is cleaned up.
    const element = holder.current;
    let plot = null;
    let removed = false;
    const draw = async () => {
      const uPlot = await loadLibrary();
      if (removed) return;
      const grid = { stroke: color('--line'), width: 1 };
      const axis = { stroke: color('--muted'), grid, ticks: grid };
      const options = {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { y: false },
        series: [{}, ...series.map((one) => ({
          label: one.label, stroke: color(one.color), width: 2, points: { show: times.length < 40 },
        }))],
        axes: [
          { ...axis, space: 84, values: timeLabels },
          { ...axis, size: 60, values: (_, ticks) => ticks.map(format), ...(isCount && { incrs: WHOLE_STEPS }) },
        ],
        scales: scalesOf(times, isCount),
        hooks: { draw: [(drawn) => drawMarkers(drawn, markers)] },
      };
      plot?.destroy();
      plot = new uPlot(options, [times, ...series.map((one) => one.values)], element);
    };
    draw();
    const resize = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height }));
    resize.observe(element);
    const stop = onThemeChanged(draw);
    return () => {
      removed = true;
      resize.disconnect();
      stop();
      plot?.destroy();
    };
  }, [times, series, height, markers, isCount]);
  return html`<div class="plot" ref=${holder} aria-hidden="true" style=${{ minHeight: `${height}px` }}></div>`;
}

/** Returns the ranges of the axes. The library would draw several years around a single time. */
function scalesOf(times, isCount) {
  const x = times.length === 1 ? { range: [times[0] - DAY_SECONDS, times[0] + DAY_SECONDS] } : {};
  return { x, y: isCount ? { range: (_, least, most) => [0, Math.max(1, most ?? 0) * 1.1] } : {} };
}

/** Returns the labels of times on an axis, in seconds since 1970, with `step` seconds in between. */
function timeLabels(plot, times, axis, space, step) {
  return times.map((time) => {
    const date = new Date(time * 1000);
    const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
    return formatTick(date, step < DAY_SECONDS && isMidnight ? DAY_SECONDS : step);
  });
}

/** Draws horizontal lines, `{ value, label }`, such as the thresholds of stages. */
function drawMarkers(plot, markers) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = color('--muted');
  ctx.fillStyle = color('--muted');
  ctx.setLineDash([4, 4]);
  ctx.font = `${11 * devicePixelRatio}px sans-serif`;
  for (const { value, label } of markers) {
    const y = plot.valToPos(value, 'y', true);
    if (y < bbox.top || y > bbox.top + bbox.height) continue;
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.fillText(label, bbox.left + 4, y - 4);
  }
  ctx.restore();
}
