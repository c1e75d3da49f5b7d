/** What follows a model's pick: files, words to look for, none, too many. */
import { describe, expect, test } from '@jest/globals';
import { ledgerOfEvents } from '../../../../src/client/archive/ledger.js';
import { ledgerOf } from '../../../../src/workflows/step/views.js';
import { play, type Case } from '../step-driver.js';

const PICK = 'preflight > pick';

describe('no file is named', () => {
  test.each<Case>([
    {
      name: 'files',
      words: { preflight: ['pick'] },
      effects: `${PICK} > preflight 2 > propose * > build > ask approval a.ts`,
    },
    {
      name: 'words to look for: preflight once more, and a new pick',
      words: { preflight: ['pick', 'pick'], pick: ['look_for'] },
      effects: `${PICK} > preflight 2 > pick#2 > preflight 3 > propose * > build > ask approval a.ts`,
    },
    {
      name: 'none: taken all the same',
      words: { preflight: ['pick'], pick: ['nothing_found'] },
      decisions: ['take'],
      effects: `${PICK} > ask nothing_found a.ts > say take > preflight 2 > propose * > build > ask approval a.ts`,
    },
    {
      name: 'none: looked for once more',
      words: { preflight: ['pick', 'pick'], pick: ['nothing_found'] },
      decisions: ['retry'],
      effects: `${PICK} > ask nothing_found a.ts > say retry > preflight 2 > pick#2 > preflight 3 > propose * > build > ask approval a.ts`,
    },
    {
      name: 'files, where a person wants to be asked: some are taken',
      words: { preflight: ['pick'], pick: ['picked:a.ts,b.ts'] },
      input: { pick: true },
      decisions: [['take', { files: ['b.ts'] }], 'skip'],
      effects: `${PICK} > ask pick a.ts,b.ts > say take b.ts > say skip > preflight 2 > propose * > build > ask approval b.ts`,
    },
    {
      name: 'too many: skipped',
      words: { preflight: ['pick'], pick: ['many:a.ts,b.ts'] },
      decisions: ['skip'],
      effects: `${PICK} > ask pick a.ts,b.ts > say skip > skipped`,
    },
  ])('$name', (it) => {
    expect(play(it).trace.join(' > ')).toBe(it.effects);
  });

  test.each([
    ['taken at once', {}, []],
    [
      'taken by a person',
      { pick: true as const },
      [['take', { files: ['b.ts'] }] as const, 'skip' as const],
    ],
  ])(
    'why, %s, is in the ledger before anything is edited, with a worker and without one',
    (_, input, decisions) => {
      const words = { preflight: ['pick'], pick: ['picked:b.ts'] };
      const { state } = play({ words, input, decisions });
      const ready = (stage: string) => state.events.findIndex(({ type }) => type === stage);
      expect(ready('files_picked')).toBeLessThan(ready('edit_chunk_started'));
      for (const rows of [ledgerOf(state), ledgerOfEvents(state.events)])
        expect(rows).toMatchObject([{ path: 'b.ts', why: expect.stringMatching(/./) }]);
    },
  );
});
