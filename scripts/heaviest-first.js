/** As test/support/sequencer.js, and before all others the files whose whole matrices take longest: begun last, one would run alone for minutes. */
import LongFirst from '../test/support/sequencer.js';

const HEAVIEST =
  /\/test\/(crash\/apply-kill|e2e\/crash|workspace\/(apply-person|person-back|apply-faults)|model\/journal-kill)\.test\.ts$/;

export default class HeaviestFirst extends LongFirst {
  sort(tests) {
    const sorted = super.sort(tests);
    return [...sorted.filter(({ path }) => HEAVIEST.test(path)), ...sorted.filter(({ path }) => !HEAVIEST.test(path))];
  }
}
