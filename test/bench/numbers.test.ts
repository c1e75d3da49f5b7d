/** What the measures are made of: medians and verdicts, the server's action counter, time covered by child processes. */
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';

const load = async (path: string): Promise<unknown> => import(join(process.cwd(), 'bench', path));
const numbers = (await load('numbers.js')) as {
  quantile: (values: readonly number[], part: number) => number;
  row: (
    what: string,
    measured: string,
    value?: number,
    goal?: { atMost?: number; atLeast?: number },
  ) => object;
};
const actions = (await load('actions.js')) as {
  sumsBy: (text: string, metric: string, label: string) => Record<string, number>;
  actionsBetween: (
    before: Record<string, number>,
    after: Record<string, number>,
  ) => Record<string, number>;
};
const { covered_ms } = (await load('probe.js')) as {
  covered_ms: (intervals: readonly (readonly number[])[]) => number;
};

describe('numbers', () => {
  test('quantiles lie between two values where they fall between them, whatever the order', () => {
    expect(numbers.quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
    expect(numbers.quantile([10, 2, 9], 0.5)).toBe(9);
    expect(numbers.quantile([1, 2, 3, 4, 5], 0.25)).toBe(2);
    expect(numbers.quantile([7], 0.75)).toBe(7);
  });

  test.each([
    [{ atMost: 1.5 }, 1.5, '<= 1.5', 'met'],
    [{ atMost: 1.5 }, 1.51, '<= 1.5', 'missed'],
    [{ atLeast: 0.8 }, 0.8, '>= 0.8', 'met'],
    [{ atLeast: 0.8 }, 0.79, '>= 0.8', 'missed'],
    [undefined, 3, '', ''],
  ])('the goal %j judges %d', (goal, value, words, verdict) => {
    expect(numbers.row('w', 'm', value, goal)).toEqual({
      what: 'w',
      measured: 'm',
      goal: words,
      verdict,
    });
  });
});

test("the server's counter is read by type, over all its other labels; only changes are told", () => {
  const text = [
    '# TYPE action counter',
    'action{action_type="grpc_StartWorkflowExecution",namespace="default",service_name="frontend"} 3',
    'action{action_type="command_ScheduleActivityTask",namespace="default",workflow="a"} 5',
    'action{action_type="command_ScheduleActivityTask",namespace="default",workflow="b"} 2',
    'actions{action_type="no"} 9',
  ].join('\n');
  const read = actions.sumsBy(text, 'action', 'action_type');
  expect(read).toEqual({ grpc_StartWorkflowExecution: 3, command_ScheduleActivityTask: 7 });
  expect(actions.actionsBetween({ grpc_StartWorkflowExecution: 3 }, read)).toEqual({
    command_ScheduleActivityTask: 7,
  });
});

test('child processes that run side by side count once', () => {
  const covered = covered_ms([
    [0, 10],
    [5, 12],
    [6, 7],
    [20, 25],
  ]);
  expect(covered).toBe(17);
});
