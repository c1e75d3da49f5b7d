/** A job that names no file: the files that its words lead to, in each way that a model may answer. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { requestsOf, scene, whole, type Scene } from './support.js';

const MARKER = 'EMEND-COMPLETE {{nonce}} 0 0\n';
const LIST = 'Files of the project';
const said = (answer: object): string => `${JSON.stringify(answer)}\n${MARKER}`;
const picks = (...paths: string[]) =>
  said({ files: paths.map((path) => ({ path, why: 'it is named' })) });
const one = (n: number): string => `export const price = ${n};\n`;
const LAMPS = Array.from({ length: 11 }, (_, i) => `lamps/lamp${i}.js`);

const FILES: Record<string, string> = {
  ...Object.fromEntries(LAMPS.map((path) => [path, one(1)])),
  'src/kettle.js': 'export function boilWater() {\n  return 1;\n}\n',
  'src/teapot.js':
    "import { boilWater } from './kettle.js';\nexport const pour = () => boilWater();\n",
  'test/kettle.test.js': "import { boilWater } from '../src/kettle.js';\n",
  'src/zebra/stripes.js': one(1),
  '.env': 'SECRET_TOKEN=abc\n',
};

let s: Scene;
beforeAll(async () => {
  s = await scene(
    {
      ...FILES,
    },
    [
      {
        name: 'found',
        match: { contains: [LIST, 'boilWater shall'] },
        answer: picks('src/kettle.js', '../etc/passwd'),
      },
      {
        name: 'wish',
        match: { contains: [LIST, 'animal', '"look_for"'] },
        answer: said({ look_for: ['stripes'] }),
      },
      {
        name: 'wished',
        match: { contains: [LIST, 'animal', 'was looked for'] },
        answer: picks('src/zebra/stripes.js'),
      },
      {
        name: 'none',
        match: { contains: [LIST, 'Nobody knows', '"look_for"'] },
        answer: said({ files: [] }),
      },
      {
        name: 'hinted',
        match: { contains: [LIST, 'Nobody knows', 'try the teapot'] },
        answer: picks('src/teapot.js'),
      },
      { name: 'many', match: { contains: [LIST, 'Every lamp'] }, answer: picks(...LAMPS) },
      ...['src/kettle.js', 'src/teapot.js', 'src/zebra/stripes.js', ...LAMPS].map((path) => ({
        name: path,
        match: { contains: `- ${path}` },
        answer: whole({
          [path]: (FILES[path] ?? one(1))
            .replace('1;', '2;')
            .replace('boilWater();', 'boilWater(); // 2'),
        }),
      })),
    ],
  );
  await s.worker();
});
afterAll(async () => {
  await s.close();
});
const job = (text: string): string => `---\napproval: auto\n---\n# ${text}\n`;
/** All text of the request that has these words. */
const request = async (...words: readonly string[]): Promise<string> =>
  (await requestsOf(s))
    .map((each) => JSON.stringify(each))
    .find((text) => words.every((word) => text.includes(word))) ?? '';

test('found: the list is ranked, with reasons and definitions; what is picked, and why, is told', async () => {
  const run = await s.start('found.md', job('boilWater shall take a temperature'));
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['src/kettle.js'] });
  const asked = await request('boilWater shall', LIST);
  expect(asked).toMatch(
    /src\/kettle\.js: defines boilWater[^\n]*\\n {2}boilWater\\nsrc\/teapot\.js: [^\n]*imports src\/kettle\.js/,
  );
  expect(asked).toContain('test/kettle.test.js: test of src/kettle.js');
  expect(asked).not.toContain('.env');
  const picked = (await s.events(run)).filter(({ type }) => type === 'files_picked');
  expect(picked).toMatchObject([
    { file_count: 1, files: [{ path: 'src/kettle.js', why: 'it is named' }] },
  ]);
});

test('asked for more: the words are looked for, once, and the model picks from what they lead to', async () => {
  const run = await s.start('more.md', job('The animal is to be dearer'));
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['src/zebra/stripes.js'] });
  expect(await request('The animal', 'was looked for')).toMatch(
    /project\\n\\nsrc\/zebra\/stripes\.js: named /,
  );
  expect((await s.events(run)).filter(({ type }) => type === 'looking_for')).toMatchObject([
    { words: ['stripes'] },
  ]);
});

test('nothing found: a person sees the candidates, and a hint is looked for', async () => {
  const run = await s.start('none.md', job('Nobody knows what boilWater is about'));
  const { decision } = (await s.settle(run)).status;
  expect(decision).toMatchObject({
    reason: 'nothing_found',
    accepts: ['take', 'retry', 'skip', 'abort'],
  });
  expect(decision?.files[0]).toMatchObject({
    path: 'src/kettle.js',
    message: expect.stringContaining('defines'),
  });
  await s.answer(run, 'retry', { note: 'try the teapot' });
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['src/teapot.js'] });
});

test('too many: a person takes some, and the others stay', async () => {
  const run = await s.start('many.md', job('Every lamp is to be dearer'));
  const { decision } = (await s.settle(run)).status;
  expect(decision).toMatchObject({
    reason: 'pick',
    message: expect.stringContaining('maxPickedFiles is 10'),
  });
  expect(decision?.files).toHaveLength(11);
  await s.answer(run, 'take', { files: [LAMPS[3]!] });
  await s.answer(run, 'skip', {});
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: [LAMPS[3]] });
  expect(s.read(LAMPS[4]!)).toBe(one(1));
});

test('all skipped: nothing is written and nothing is paid for editing', async () => {
  const run = await s.start('skip.md', job('Every lamp once more'));
  await s.settle(run);
  await s.answer(run, 'skip', {});
  expect(await s.end(run)).toMatchObject({ outcome: 'skipped', files: [], usage: { calls: 1 } });
});
