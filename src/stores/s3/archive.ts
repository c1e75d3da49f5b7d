/**
 * The archive in a bucket: `archive/<stepKey>/log-<writer><8 bytes>/<number>`, each log with one process as its writer, and the kept
 * files beside them. Readers merge the logs.
 */
import { randomBytes } from 'node:crypto';
import { isStepKey, type StepKey } from '../../shared/ids.js';
import { groupBy } from '../../shared/text.js';
import { entriesOf, fileName, linesIn, linesOf, nullOfOther, placeName } from '../directory/archive.js';
import type { Archive } from '../ports.js';
import { ObjectLog } from './log.js';
import { getObject, putObject } from './records.js';
import type { Objects } from './objects.js';

const OPEN_LOGS = 1_000; // bound: Runs whose last log object a process knows in an S3 store; for others it begins a new log.
const PARTS = /^archive\/([^/]+)\/(log-[^/]+)\/\d+$/;

export const createS3Archive = (objects: Objects, writer: string): Archive => {
  const logs = new Map<StepKey, ObjectLog>();
  const placeOf = (stepKey: StepKey): string => `archive/${placeName(stepKey)}`;
  const find = async (prefix: string): Promise<readonly StepKey[]> => {
    const changed = new Map<StepKey, number>();
    for (const { key, changed_ms } of await objects.list(`archive/${prefix}`)) {
      const stepKey = PARTS.exec(key)?.[1];
      if (stepKey !== undefined && isStepKey(stepKey))
        changed.set(stepKey, Math.max(changed.get(stepKey) ?? 0, changed_ms));
    }
    return [...changed].sort(([, a], [, b]) => b - a).map(([stepKey]) => stepKey);
  };

  return {
    append: async (stepKey, entries) => {
      if (entries.length === 0) return;
      let log = logs.get(stepKey);
      if (log === undefined) {
        if (logs.size >= OPEN_LOGS) logs.clear();
        // Its own, whoever else of this host or process writes: two never write one object.
        log = new ObjectLog(objects, `${placeOf(stepKey)}/log-${writer}${randomBytes(6).toString('hex')}`);
        logs.set(stepKey, log);
      }
      await log.append(new TextEncoder().encode(linesOf(entries)));
    },
    read: async (stepKey) => {
      const pieces = await objects.list(`${placeOf(stepKey)}/log-`);
      const byLog = groupBy(pieces, ({ key }) => PARTS.exec(key)?.[2]);
      byLog.delete(undefined);
      const read = [...byLog.values()].map(async (found) => {
        const bytes = await Promise.all(found.map(async ({ key }) => (await objects.get(key)) ?? new Uint8Array()));
        return linesIn(Buffer.concat(bytes));
      });
      return entriesOf(await Promise.all(read));
    },
    find,
    list: () => find(''),
    putFile: async (stepKey, name, value) => {
      const key = `${placeOf(stepKey)}/${fileName(name)}`;
      return { path: `${objects.place.url}/${key}`, ...(await putObject(objects, key, value)) };
    },
    lastFile: async (stepKey, prefix) => {
      const last = (await objects.list(`${placeOf(stepKey)}/${prefix}`)).findLast(({ key }) => key.endsWith('.json'));
      return last === undefined ? null : getObject(objects, last.key).catch(nullOfOther);
    },
  };
};
