/**
 * Long files first, so that none of them is left to run alone at the end: those end to end mostly wait, and share the machine well with
 * what computes. Before all others those whose whole matrices take longest. Jest itself goes by size only, in a clone that has not run yet.
 */
import { statSync } from 'node:fs';
import Sequencer from '@jest/test-sequencer';

const HEAVIEST =
  /\/test\/(crash\/apply-kill|e2e\/crash|workspace\/(apply-person|person-back|apply-faults)|model\/journal-kill)\.test\.ts$/;
const LONG = /\/test\/(e2e|crash|workspace|temporal)\//;
const weight = ({ path }) => (HEAVIEST.test(path) ? 2 ** 33 : LONG.test(path) ? 2 ** 32 : 0) + statSync(path).size;

export default class HeaviestFirst extends Sequencer {
  sort(tests) {
    return [...tests].sort((a, b) => weight(b) - weight(a));
  }
}
