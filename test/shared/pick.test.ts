/** What follows a model's pick: files, words to look for, none, too many. */
import { describe, expect, test } from '@jest/globals';
import { currentRules, type Rules } from '../../src/shared/rules.js';
import { play, type Case } from './step-driver.js';

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
      name: 'too many: skipped',
      words: { preflight: ['pick'], pick: ['many:a.ts,b.ts'] },
      decisions: ['skip'],
      effects: `${PICK} > ask pick a.ts,b.ts > say skip > skipped`,
    },
  ])('$name', (it) => {
    expect(play(it).trace.join(' > ')).toBe(it.effects);
  });

  test('a run that began before there were these questions asks as it did then', () => {
    const { pick, nothing_found, ...answers } = currentRules().answers;
    expect(pick).toEqual(nothing_found);
    const input = { rules: { ...currentRules(), answers: answers as Rules['answers'] } };
    const { trace } = play({ words: { preflight: ['pick'], pick: ['nothing_found'] }, input });
    expect(trace.join(' > ')).toBe(`${PICK} > ask engine_failed`);
  });
});
