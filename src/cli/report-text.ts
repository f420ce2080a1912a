/** The report of a replay for people. */
import { formatBytes } from '../units.ts';
import { alignColumns, filesText, formatCount, formatRate, formatSeconds, formatShare } from './format.ts';
import type { ReplayResult } from './report.ts';

const PAGES_SHOWN_MAX = 8;

export function replayText(result: ReplayResult): string {
  return [
    ...warnings(result),
    'Run',
    ...alignColumns(runRows(result), { indent: 2 }),
    '',
    ...hitLines(result),
    '',
    'Counts',
    ...alignColumns(countRows(result), { indent: 2 }),
    ...refusalLines(result),
    '',
    ...witnessLines(result),
    '',
  ].join('\n');
}

function warnings({ interrupted }: ReplayResult): string[] {
  return interrupted === null ? [] : [`Ended early, the figures cover what was done: ${interrupted}`, ''];
}

/** How bytes move, and by what that was decided. */
function waysRows({ strategies, tuning }: ReplayResult): string[][] {
  if (strategies === null) return [];
  const ways = (['zero', 'copy', 'store', 'load'] as const).map((what) => `${what} by ${strategies[what]}`);
  const reason =
    tuning === null
      ? "by the adapter's name"
      : tuning.cutShort === null
        ? `measured in ${formatSeconds(tuning.milliseconds / 1000)}`
        : `partly measured: ${tuning.cutShort}`;
  return [['ways', `${ways.join(', ')}; ${reason}`]];
}

function runRows(result: ReplayResult): string[][] {
  const { cache, offload, transfer, concurrency } = result.config;
  const software = result.adapterIsSoftware === true ? ', a software adapter' : '';
  const place =
    result.worker === 'simulated'
      ? 'simulated: plain arrays, no GPU'
      : `WebGPU: ${result.adapter ?? ''}${software}`;
  const runtime = result.runtime === 'deno' ? 'Deno' : 'Node';
  const policy =
    offload.policy === 'lru'
      ? 'lru'
      : "arc-tier, the host tier's ARC (ghosts re-enter T1; not the textbook's rule)";
  return [
    ['trace', `${filesText(result.files)}; blocks of ${formatCount(cache.tokensPerPage)} tokens`],
    ['worker', place],
    ...waysRows(result),
    ['runtime', `${runtime} ${result.runtimeVersion}`],
    [
      'pool',
      `${formatCount(cache.pages)} pages of ${formatBytes(cache.pageBytes)}, zeroing ${cache.zeroing}`,
    ],
    ['host tier', offload.slots === 0 ? 'none' : `${formatCount(offload.slots)} slots, policy ${policy}`],
    ['fence', offload.fence],
    [
      'staging',
      `${transfer.stagingBuffers} buffers of ${formatBytes(transfer.stagingBytes)}, overflow ${formatBytes(transfer.overflowBytes)}`,
    ],
    ['concurrency', formatCount(concurrency)],
    ['time', `${formatSeconds(result.seconds)}, ${formatRate(result.requests, result.seconds)} requests`],
    ['memory', `${formatBytes(result.residentBytesMax)} resident at most`],
  ];
}

function hitLines({ hits, hitTokens, promptTokens, blockReferences }: ReplayResult): string[] {
  const row = (name: string, tokens: number, pages: number) => [
    name,
    formatCount(tokens),
    formatShare(tokens, promptTokens),
    formatCount(pages),
    formatShare(pages, blockReferences),
  ];
  const found = hitTokens.device + hitTokens.host;
  const pages = hits.device + hits.host;
  return alignColumns(
    [
      ['Hits', 'tokens', 'of prompts', 'pages', 'of blocks'],
      row('  device', hitTokens.device, hits.device),
      row('  host', hitTokens.host, hits.host),
      row('  both', found, pages),
      row('  computed', promptTokens - found, blockReferences - pages),
      row('  all', promptTokens, blockReferences),
    ],
    { right: [1, 2, 3, 4] },
  );
}

function countRows(result: ReplayResult): string[][] {
  const { pages, seconds, linesSkipped, preemptions, requestsRefused } = result;
  const preempted = preemptions === 0 ? '' : `, ${formatCount(preemptions)} preemptions`;
  const skipped = linesSkipped === 0 ? '' : `, ${formatCount(linesSkipped)} bad lines skipped`;
  const moved = (transfers: number, failed: number, bytes: number) =>
    `${formatCount(transfers)} (${formatCount(failed)} failed), ${formatBytes(bytes)}, ` +
    (seconds > 0 ? `${formatBytes(bytes / seconds)}/s` : '-');
  return [
    [
      'requests',
      `${formatCount(result.requests)} replayed, ${formatCount(requestsRefused)} refused${preempted}${skipped}`,
    ],
    ['steps', formatCount(result.steps)],
    [
      'pages',
      `${formatCount(pages.allocated)} allocated, ${formatCount(pages.zeroed)} zeroed, ${formatCount(pages.evicted)} evicted`,
    ],
    ['stores', moved(result.stores, result.storesFailed, result.bytesStored)],
    ['loads', moved(result.loads, result.loadsFailed, result.bytesLoaded)],
    [
      'flushes',
      `${formatCount(result.flushes)}, ${formatCount(result.flushOverflows)} pages through the overflow buffer, ${formatCount(result.flushWaits)} waits`,
    ],
  ];
}

function refusalLines({ refusals, requestsRefused }: ReplayResult): string[] {
  if (requestsRefused === 0) return [];
  const more = requestsRefused - refusals.length;
  return [
    '',
    'Refused',
    ...refusals.map((message) => `  ${message}`),
    ...(more > 0 ? [`  and ${formatCount(more)} more`] : []),
  ];
}

function witnessLines({ mismatches, checkedWords, mismatchedPages, config }: ReplayResult): string[] {
  if (mismatches === null || checkedWords === null) {
    return [
      config.witness
        ? 'Mismatches: unknown, the witness was lost with the device'
        : 'Mismatches: not looked for (--no-witness)',
    ];
  }
  const checked = `${formatCount(checkedWords)} words that requests read`;
  if (mismatches === 0) return [`Mismatches: none in ${checked}`];
  const shown = mismatchedPages
    .slice(0, PAGES_SHOWN_MAX)
    .map(({ page, step }) => `page ${page} in step ${step}`);
  return [
    `MISMATCHES: ${formatCount(mismatches)} of ${checked} did not hold what they must`,
    `  first: ${shown.join(', ')}`,
  ];
}
