/** Lines of the worker's log: without secrets, and as a reader in a terminal sees them. Pure. */
import { clockTime } from '../shared/outage.js';
import { isRecord, visible } from '../shared/text.js';

const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warning',
  50: 'error',
  60: 'fatal',
};
/** Properties that each line has, and those that the SDK adds to each line about an activity. */
const COMMON: ReadonlySet<string> = new Set([
  ...['level', 'time', 'pid', 'hostname', 'name', 'msg'],
  ...['sdkComponent', 'isLocal', 'namespace', 'activityId', 'taskQueue', 'workflowType'],
  ...['workflowRunId', 'durationMs'],
]);

/** Returns a line of JSON with its texts masked; another line is masked as a whole. */
export const maskedLogLine = (json: string, mask: (text: string) => string): string => {
  // Almost no line has anything to mask.
  if (mask(json) === json) return json;
  const entry = parsed(json);
  return entry === null ? mask(json) : `${JSON.stringify(withTexts(entry, mask))}\n`;
};

const withTexts = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => withTexts(item, change));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withTexts(item, change)]),
  );
};

/** Returns a JSON line of pino as `12:03:04  warning  message: key value, key value`. Another line stays as it is. */
export const plainLogLine = (json: string): string => {
  const entry = parsed(json);
  if (entry === null) return json;
  const { level, time, msg } = entry;
  const details = Object.entries(entry)
    .filter(([key]) => !COMMON.has(key))
    .map(([key, value]) => [key, detailText(value)] as const)
    .flatMap(([key, text]) => (text === null ? [] : [`${key} ${text}`]));
  const message = [
    ...(typeof msg === 'string' && msg !== '' ? [msg] : []),
    ...(details.length === 0 ? [] : [details.join(', ')]),
  ].join(': ');
  const clock = typeof time === 'number' ? clockTime(time) : '';
  const word = (typeof level === 'number' ? LEVELS[level] : undefined) ?? 'info';
  return `${[clock, word, visible(message).replace(/\s*\n\s*/g, ' ')].join('  ')}\n`;
};

function parsed(json: string): Readonly<Record<string, unknown>> | null {
  try {
    const entry: unknown = JSON.parse(json);
    return isRecord(entry) ? entry : null;
  } catch {
    return null;
  }
}

/** An error is shown as its message: the stack is in the JSON lines, as are other objects. Null: the value is left out. */
function detailText(value: unknown): string | null {
  if (Array.isArray(value))
    return value
      .map(detailText)
      .filter((text) => text !== null)
      .join(' ');
  if (!isRecord(value)) return String(value);
  return typeof value.message === 'string' ? value.message : null;
}
