/**
 * `npm run house`: how large src is (with worker.ts and client.ts). Fails where a number is over its limit in scripts/house.json; a commit
 * that raises a limit says why there. Circles and imports past a door are `npm run deps`, exports that nobody uses `npm run dead`.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const LONG_FILE = 300;
const ROOTS = ['worker.ts', 'client.ts'];

const countsOf = (names) => {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
};

/** Each name that a file imports, as `path of the file that has it#name`. */
const importsOf = (path, text) =>
  [...text.matchAll(/(?:import|export) (?:type )?\{([^}]*)\} from '(\.[^']*)'/g)].flatMap(
    ([, names, from]) => {
      const target = posix.join(posix.dirname(path), from).replace(/\.js(x?)$/, '.ts$1');
      return names.split(',').flatMap((name) => {
        const plain = name
          .trim()
          .replace(/^type /, '')
          .split(' as ')[0];
        return plain === '' ? [] : [`${target}#${plain}`];
      });
    },
  );

/** What `root` counts, each with the words that say where its largest is. */
const measure = (root) => {
  const inSrc = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const paths = [
    ...inSrc.filter((path) => /\.tsx?$/.test(path)).map((path) => posix.join('src', path)),
    ...ROOTS,
  ];
  const files = paths
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
    .map(({ path, text }) => ({
      path,
      lines: text.split('\n').length - 1,
      uses: importsOf(path, text),
    }))
    .sort((a, b) => b.lines - a.lines);
  const [[folder, full]] = countsOf(files.map(({ path }) => dirname(path)));
  const users = countsOf(files.flatMap(({ uses }) => [...new Set(uses)]));
  const long = files.filter(({ lines }) => lines > LONG_FILE);
  const [longest] = files;
  return {
    files: [files.length],
    lines: [files.reduce((sum, { lines }) => sum + lines, 0)],
    medianLinesOfAFile: [files[Math.floor(files.length / 2)].lines],
    linesOfTheLongestFile: [longest.lines, longest.path],
    [`filesOver${LONG_FILE}Lines`]: [long.length, long.map(({ path }) => path).join(', ')],
    filesOfTheFullestFolder: [full, folder],
    exportsUsedByAnotherFile: [users.length],
    exportsUsedByOneOtherFile: [users.filter(([, count]) => count === 1).length],
  };
};

/** What to print, and what is over its limit by how much: each limit is of a number that is measured. */
export const house = (root, limits) => {
  const numbers = measure(root);
  const unknown = Object.keys(limits).filter((name) => numbers[name] === undefined);
  if (unknown.length > 0)
    throw new Error(`scripts/house.json: nothing measures ${unknown.join(', ')}`);
  const rows = Object.entries(numbers).map(([name, [count, where = '']]) => ({
    text: `${name}: ${count}${where === '' ? '' : ` (${where})`}`,
    most: limits[name]?.most,
    over: count - (limits[name]?.most ?? Infinity),
  }));
  return {
    says: rows.map(({ text, most }) => (most === undefined ? text : `${text}, at most ${most}`)),
    worse: rows
      .filter(({ over }) => over > 0)
      .map(({ text, most, over }) => `${text} is ${over} over ${most}`),
  };
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const limits = JSON.parse(readFileSync(new URL('house.json', import.meta.url), 'utf8'));
  const { says, worse } = house(fileURLToPath(new URL('..', import.meta.url)), limits);
  console.log(says.join('\n'));
  for (const line of worse) console.error(`too much: ${line}`);
  process.exitCode = worse.length > 0 ? 1 : 0;
}
