/**
 * Properties over random cases (fast-check). `EMEND_FUZZ_RUNS` says how many cases each one draws, `EMEND_FUZZ_SEED` repeats a run; the
 * seed is printed, so that a failure can be had again.
 */
const SEED = Number(process.env.EMEND_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** `npm test` draws a quarter of the cases, but as many where they are few. */
const FEW = 50;
const ofUsual = (usual: number): number =>
  process.env.EMEND_SHORT === '1' ? Math.max(Math.min(usual, FEW), Math.ceil(usual / 4)) : usual;

/** For `fc.assert`: `usual` cases unless told otherwise, or a share of what was told where the cases are spread over several properties. */
export const fuzz = (name: string, usual = 500, share = 1): { numRuns: number; seed: number } => {
  const numRuns = Math.ceil(Number(process.env.EMEND_FUZZ_RUNS ?? ofUsual(usual)) * share);
  process.stdout.write(`${name}: seed ${SEED}, ${numRuns} runs\n`);
  return { numRuns, seed: SEED };
};
