/**
 * Which samples the test commands draw: by EMEND_SEED, else by what is committed of sources and tests, so that each change of them draws
 * another sample, and whoever runs them again the same. `node scripts/seed.js` prints the seed, `node scripts/seed.js share` the share of
 * `npm run test:long` that it draws for `.ci/run`.
 */
import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** So many shares does `npm run test:long -- --share K/6` deal its files and its chaos into. */
export const SHARES = 6;

const seedOfSources = () => {
  try {
    const trees = execFileSync('git', ['rev-parse', 'HEAD:src', 'HEAD:test'], {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      encoding: 'utf8',
      stdio: 'pipe',
    });
    return trees
      .trim()
      .split('\n')
      .reduce((sum, tree) => sum ^ parseInt(tree.slice(0, 7), 16), 0);
  } catch {
    return Math.floor(Math.random() * 2 ** 28);
  }
};

export const drawSeed = () => process.env.EMEND_SEED ?? String(seedOfSources());

/** From 1 to SHARES. */
export const shareOf = (seed) => (Number(seed) % SHARES) + 1;

/** What stands after `--share`: its number and how many there are, or null where it is no share. */
export const readShare = (text) => {
  const [, number, shareCount] = /^([1-9])\/([1-9])$/.exec(text) ?? [];
  return Number(shareCount) === SHARES && Number(number) <= SHARES
    ? { number: Number(number), of: SHARES }
    : null;
};

if (
  process.argv[1] !== undefined &&
  realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)
)
  console.log(process.argv[2] === 'share' ? shareOf(drawSeed()) : drawSeed());
