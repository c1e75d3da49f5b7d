/** Distinguishes secrets from other text. Tokens are put together here, so that no scanner of this repository finds one. */
import { expect, test } from '@jest/globals';
import { findSecrets, secretsOfEnvironment } from '../../src/system/secrets.js';

const HEX = '4f9c1e7ab2d8036559ee01c7d4ba92f3';
const WORD = 'q8ZrT2vLk0XnB5wYc7JdF1sHgM4pAe6u';
const BASE64 = `${WORD}+/x`;
const PEM = (body: readonly string[], end: string): string =>
  ['-----BEGIN RSA PRIVATE', ...body, '-----END RSA PRIVATE']
    .map((line) => line.replace(/PRIVATE$/, 'PRIVATE KEY-----'))
    .join(end);
const LINES = [`MIIE${WORD}${WORD.slice(4)}`, `${BASE64}${HEX}`, 'Zm9v8Q=='];

test.each([
  ['a token by its form', `// ghp_${WORD}abcd`, [`ghp_${WORD}abcd`]],
  ['not in the middle of a word', `xghp_${WORD}abcd`, []],
  ['the password of a URL, not the URL', `url: postgres://app:${WORD}@db:5432/x`, [WORD]],
  ['a word as the password of a URL', 'postgres://postgres:postgres@localhost/x', []],
  ['a quoted assignment', `const apiKey = "${WORD}";`, [WORD]],
  [
    'one quoted in a text that is quoted, as in a notebook',
    JSON.stringify([`apiKey = "${WORD}"\n`]),
    [WORD],
  ],
  [
    'one of JSON in a text of JSON',
    JSON.stringify({ body: JSON.stringify({ password: WORD }) }),
    [WORD],
  ],
  ['a bare one in a text that is quoted', JSON.stringify([`export DB_PASSWORD=${WORD}\n`]), [WORD]],
  ['a bare one at the end of its line', `DB_PASSWORD=${WORD}\nPORT=1`, [WORD]],
  ['a name of code', 'const token = parseTokenV2FromHeaderLine1;', []],
  ['a call', `const token = make${WORD}(x);`, []],
  ['what stands for one', 'API_KEY=your-key-0123456789abcdef', []],
  ['a header', `curl -H "Authorization: Bearer ${WORD}"`, [WORD]],
  ['one that git writes', `extraheader = AUTHORIZATION: basic ${WORD}`, [WORD]],
  [
    'a parameter of a URL, each of them',
    `GET /x?api_key=${WORD}&a=1&token=${HEX}&b=2`,
    [WORD, HEX],
  ],
  ['the first of a form', `client_secret=${WORD}&grant_type=password`, [WORD]],
  ['what an address is signed with', `https://a.blob/c?sv=1&sig=${WORD}%3D`, [`${WORD}%3D`]],
  ['an argument', `Client(host=x, api_key=${WORD})`, [WORD]],
  ['an element of XML', `<server><password>${WORD}</password></server>`, [WORD]],
  ['a token in place of the user of a URL', `git clone https://${WORD}@example.org/x.git`, [WORD]],
  ['a user of a URL', 'ssh://deploy-production-server01@example.org/x.git', []],
  ['a member', '$token->getValueOfHeader1() + auth->users', []],
  [
    'a comment that turns rules off',
    `// secretlint-disable\nconst a = 'npm_${WORD}abcd';`,
    [`npm_${WORD}abcd`],
  ],
  ["secretlint's own: a rest of a line", `//registry.npmjs.org/:_authToken=${HEX}`, [HEX]],
] as const)('%s', async (_, text, found) => {
  expect((await findSecrets(text)).flat()).toEqual(found);
});

test.each([
  ['lines', '\n'],
  ['CRLF', '\r\n'],
  ['one line of JSON', '\\n'],
  ['indented', '\n      '],
  ['texts of a program, joined', '\\n" +\n  "'],
  ['a comment', '\n// '],
])('a private key in %s is one secret with its lines', async (_, end) => {
  expect(await findSecrets(`const key = "${PEM(LINES, end)}";`)).toEqual([LINES]);
});

test('a key with headers, and one that is none', async () => {
  const headers = ['Proc-Type: 4,ENCRYPTED', 'DEK-Info: AES-128-CBC,0123456789ABCDEF', ''];
  expect(await findSecrets(PEM([...headers, ...LINES], '\n'))).toEqual([LINES]);
  expect(await findSecrets(PEM(['...'], '\n'))).toEqual([]);
});

test('hostile texts take no longer than others', async () => {
  for (const piece of [
    '-----BEGIN PRIVATE KEY-----',
    'eyJ',
    '://a:',
    'token=',
    'Bearer ',
    'SG.',
    'sk-proj-',
  ])
    expect(Array.isArray(await findSecrets(piece.repeat(200_000)))).toBe(true);
}, 20_000);

test('nothing of a call is kept in the time line of the process', async () => {
  await findSecrets('x');
  expect(
    performance.getEntriesByType('mark').filter(({ name }) => name.startsWith('@core')),
  ).toEqual([]);
});

test('values of the environment that could stand in files', () => {
  const env = {
    API_TOKEN: WORD,
    MY_SECRET: 'short1',
    TOKEN_PATH: WORD,
    GH_TOKEN: '/run/token',
    DB_PASSWORD: 'postgres',
  };
  expect(secretsOfEnvironment(env)).toEqual([[WORD]]);
});
