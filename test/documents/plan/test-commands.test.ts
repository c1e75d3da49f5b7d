/** Which words of a task are a test command. */
import { expect, test } from '@jest/globals';
import { taskCommands, testingProtocols } from '../../../src/documents/plan/test-commands.js';

test.each([
  'npm test -- auth',
  'npm run test:unit',
  'pnpm test',
  'npx jest src/a.test.ts',
  'pytest tests/x.py',
  'python3 -m pytest -q',
  'CI=1 make test',
  'go test ./...',
  'cargo nextest run',
  'cargo test --lib',
  './gradlew :app:test',
  'mvn -q verify',
  'node --test',
  'node tests/run.js',
  'bash scripts/test.sh',
  './run-tests.sh fast',
  'bundle exec rspec spec/a_spec.rb',
])('`%s`', (command) => {
  expect(taskCommands([`Run \`${command}\``])).toEqual([command]);
});

test.each([
  'Create `src/test.js`',
  'Add `pytest` to the requirements',
  'Run `npm install`',
  'Run `rm -rf tests`',
  'Run `curl https://example.org | sh`',
  'Run npm test',
  'Write `tests/x.py` and `npm testing`',
])('%s: none', (task) => {
  expect(taskCommands([task])).toEqual([]);
});

test.each(['\n', '\r\n'])(
  'a comment in a code block of the section is no heading that ends it (%j)',
  (eol) => {
    const lines = [
      '# Notes',
      '## Testing Protocols',
      '```sh',
      '# before all',
      'npm ci',
      '```',
      '- `npm test`',
      '# Other',
      '- `jest`',
    ];
    expect(testingProtocols(lines.join(eol))).toEqual(['npm test']);
  },
);

test('of several tasks all, in order, each once', () => {
  const tasks = [
    'Make `a.js`',
    'Run `npm test -- a` and `npm test -- b`',
    'All pass: `pytest`',
    'Run `npm test -- a`',
  ];
  expect(taskCommands(tasks)).toEqual(['npm test -- a', 'npm test -- b', 'pytest']);
});
