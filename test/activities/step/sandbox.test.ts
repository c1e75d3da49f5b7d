/** What a command's words tell of a sandbox that refused it. */
import { homedir } from 'node:os';
import { expect, test } from '@jest/globals';
import { refusedBySandbox } from '../../../src/activities/step/sandbox.js';

const HOME = homedir();

test.each([
  [
    'TypeError: fetch failed\n  cause: Error: getaddrinfo EAI_AGAIN registry.npmjs.org',
    '`network: true`',
  ],
  [
    'refused by Emend: 10.0.0.5:5432: 10.0.0.5 is a private address (list 10.0.0.5:5432, if you mean it)',
    'it refused 10.0.0.5:5432',
  ],
  ['connect ENETUNREACH 10.0.0.1:5432', '`network: true`'],
  ['curl: (6) Could not resolve host: example.org', '`network: true`'],
  ['dial tcp: lookup example.org: no such host', '`network: true`'],
  [
    "Error: EROFS: read-only file system, open '/usr/local/share/x.db'",
    '`write: [/usr/local/share/x.db]`',
  ],
  ["touch: cannot touch '/opt/out': Read-only file system", '`write: [/opt/out]`'],
  [
    `ENOENT: no such file or directory, open '${HOME}/.config/tool.json'`,
    `\`read: [${HOME}/.config/tool.json]\``,
  ],
  ['ls: cannot access /tmp/fixtures: No such file or directory', '`read: [/tmp/fixtures]`'],
  ['cannot open "/home/of somebody/x": not found', '`read: [/home/of somebody/x]`'],
  ['connect ENOENT /var/run/docker.sock', '`read: [/var/run/docker.sock]`'],
  ["fatal: Unable to create '/w/.git/index.lock': Read-only file system", 'the git directory'],
  ['Error: Command failed: git stash', '`git stash` fails without a message'],
  ["CalledProcessError: Command '['git', 'stash']' returned non-zero", 'read-only'],
  ['MemoryError: Cannot allocate memory', '`memory_mib`'],
  ['Error: connect ECONNREFUSED 127.0.0.1:5432', '`network: { allow: [localhost:5432] }`'],
  ['connection refused: localhost:6379', 'localhost:6379'],
  ['npm error code SELF_SIGNED_CERT_IN_CHAIN', '`env: [NODE_EXTRA_CA_CERTS, PIP_CERT]`'],
  ["fatal: unable to auto-detect email address (got 'root@x.(none)')", '`read: [~/.gitconfig]`'],
  ['sh: 1: Cannot fork: Resource temporarily unavailable', '`processes`'],
])('%s', (output, told) => {
  expect(refusedBySandbox(`running\n${output}\nfailed`)).toContain(told);
});

test.each([
  'AssertionError: expected 2 to equal 3',
  "Error: Cannot find module './missing.js'",
  "ENOENT: no such file or directory, open './data.json'",
  '404 not found',
])('nothing known: %s', (output) => {
  expect(refusedBySandbox(output)).toBeNull();
});
