import { expect, test } from '@jest/globals';
import { priorityOf } from '../../src/client/priority.js';
import type { StartRequest } from '../../src/client/types.js';

const priority = (kind: StartRequest['kind'], workspace: string) =>
  priorityOf({ kind, memo: { jobPath: 'a.md', title: 'A', workspace, host: 'h' } });

test('jobs come before plans, and runs of one workspace share a fairness key', () => {
  expect(priority('job', '/srv/shop')).toEqual({
    priorityKey: 3,
    fairnessKey: expect.stringMatching(/^shop-[0-9a-f]{12}$/),
  });
  expect(priority('plan', '/srv/shop')).toEqual({
    ...priority('job', '/srv/shop'),
    priorityKey: 4,
  });
  expect(priority('job', '/tmp/shop').fairnessKey).not.toBe(
    priority('job', '/srv/shop').fairnessKey,
  );
});

test.each([
  ['a repository', 'https://git.example.org/team/Shop.git', /^shop-[0-9a-f]{12}$/],
  ['letters outside ASCII', '/srv/Größe 12', /^gre-12-[0-9a-f]{12}$/],
  ['a long name', `/srv/${'x'.repeat(300)}`, /^x{24}-[0-9a-f]{12}$/],
  ['no name', '/', /^-[0-9a-f]{12}$/],
])('the fairness key of a workspace is at most 64 bytes of ASCII: %s', (_, workspace, key) => {
  expect(priority('job', workspace).fairnessKey).toMatch(key);
});
