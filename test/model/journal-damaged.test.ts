/** Files of a recorded call that are lost, damaged, or put aside as we advise: what was paid for is not asked for again. */
import { readdir, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { attemptsOfStep, callsOfStep } from '../../src/model/journal/calls.js';
import { callKey } from '../../src/model/journal/records.js';
import { createCallLog } from '../../src/stores/directory/records.js';
import { ProblemError } from '../../src/shared/problems.js';
import { askFor, journalAt, keyParts, rule, withDir, withRehearsal } from './support.js';

const DAMAGES: Readonly<Record<string, (path: string) => Promise<void>>> = {
  removed: (path) => rm(path),
  'put aside': (path) => rename(path, `${path}.damaged`),
  empty: (path) => truncate(path, 0),
  zeros: (path) => writeFile(path, Buffer.alloc(200)),
  'of a wrong type': (path) => writeFile(path, '{"v":2,"at":7}\n'),
};

const callDir = (dir: string): string => join(dir, keyParts.stepKey, callKey(keyParts));

const FILES = ['call.json', 'attempt-1.json', 'attempt-1.events.jsonl', 'answer.json'];
/** Its worker was killed before the answer had its record: the log alone has it. */
const WITHOUT_ANSWER = ['call.json', 'attempt-1.json'];

test.each([
  ...FILES.flatMap((file) =>
    Object.keys(DAMAGES).map((damage) => ({ file, damage, without: [] as string[] })),
  ),
  ...WITHOUT_ANSWER.flatMap((file) =>
    Object.keys(DAMAGES).map((damage) => ({ file, damage, without: ['answer.json'] })),
  ),
])(
  '$file $damage (without: $without): one call, and its answer or the name of the file',
  ({ file, damage, without }) =>
    withDir((dir) =>
      withRehearsal([rule('hello')], async ({ url, requests }) => {
        await journalAt(dir, url).ask(askFor());
        expect((await readdir(callDir(dir))).sort()).toEqual([...FILES].sort());
        for (const name of without) await rm(join(callDir(dir), name));
        const path = join(callDir(dir), file);
        await DAMAGES[damage]!(path);
        const ask = () => journalAt(dir, url, { callOwner_ms: 200 }).ask(askFor());
        const first = await ask().catch((error: unknown) => error);
        expect(requests()).toHaveLength(1);
        if (first instanceof ProblemError) {
          expect(first.message).toContain(`${path} is damaged: `);
          await rename(path, `${path}.damaged`);
        }
        expect(await ask()).toMatchObject({
          outcome: 'answered',
          answer: { text: 'hello' },
          usage: { calls: 1 },
        });
        expect(requests()).toHaveLength(1);
        expect(await attemptsOfStep(createCallLog({ dir }), keyParts.stepKey)).toMatchObject([
          { attempt: 1 },
        ]);
      }),
    ),
);

test('a call whose record is damaged is named, and hides none of the others', () =>
  withDir((dir) =>
    withRehearsal([rule('hello')], async ({ url }) => {
      await journalAt(dir, url).ask(askFor());
      await journalAt(dir, url).ask(askFor({ key: { ...keyParts, regeneration: 1 } }));
      const path = join(callDir(dir), 'call.json');
      await truncate(path, 0);
      expect(await callsOfStep(createCallLog({ dir }), keyParts.stepKey)).toMatchObject({
        found: [{ call: { n: 1, state: 'answered' } }],
        unread: [{ code: 'disk', message: `${path} is damaged: it is no JSON.` }],
      });
      await expect(attemptsOfStep(createCallLog({ dir }), keyParts.stepKey)).rejects.toThrow(
        `${path} is damaged`,
      );
    }),
  ));
