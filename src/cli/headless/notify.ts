/**
 * `notify:` a person's own command, run at each decision point by the command that follows the run. It comes from the person's own
 * settings and from nowhere else: a file in a workspace may be a model's work. It sees no key of ours; whatever becomes of it, the run goes on.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readYaml } from '../../job/yaml-source.js';
import { isRecord } from '../../job/check.js';
import { SHOWN_BOUNDS } from '../../shared/bounds.js';
import type { DecisionPoint } from '../../shared/decisions.js';
import { fail } from '../../shared/problems.js';
import { shownKey } from '../../shared/refs.js';
import type { StepStatus } from '../../shared/protocol.js';
import { runCommand } from '../../workspace/runner.js';
import type { Io } from '../io.js';
import { plain } from '../render/text.js';
import { readGivenText, UNREADABLE } from '../../workspace/given-file.js';

/** The command, from `EMEND_NOTIFY` or `notify:` of the person's `config.yaml`; null: none. Throws where that file cannot be read. */
export const notifyCommand = async ({ env }: Pick<Io, 'env'>): Promise<string | null> => {
  if ((env.EMEND_NOTIFY ?? '') !== '') return env.EMEND_NOTIFY ?? null;
  const config = env.XDG_CONFIG_HOME ?? '';
  const path = join(config === '' ? join(env.HOME ?? homedir(), '.config') : config, 'emend', 'config.yaml');
  const source = await readGivenText(path, UNREADABLE);
  if (source === null) return null;
  const yaml = readYaml(source, 0);
  const next = 'It knows one key, `notify`: a command.';
  if (!yaml.ok) return fail('config_invalid', `${path}:${yaml.faults[0]?.line ?? 1}: bad YAML`, next);
  const map = yaml.value ?? {};
  const strange = isRecord(map) ? Object.keys(map).find((key) => key !== 'notify') : '';
  const notify = isRecord(map) ? (map.notify ?? null) : null;
  if (strange !== undefined) return fail('config_invalid', `${path}:1: ${strange}: unknown key`, next);
  if (notify !== null && typeof notify !== 'string')
    return fail('config_invalid', `${path}:${yaml.lineOf(['notify'])}: notify: expected a command, as text`, next);
  return notify;
};

/** Never throws. What went wrong is a line on stderr. */
export const notify = async (
  io: Io,
  command: string,
  { stepKey, workspace, jobPath, title }: Pick<StepStatus, 'stepKey' | 'workspace' | 'jobPath' | 'title'>,
  decision: DecisionPoint,
): Promise<void> => {
  const run = shownKey(stepKey);
  const about = {
    NOTIFY_RUN: run,
    NOTIFY_DECISION: decision.id,
    NOTIFY_REASON: decision.reason,
    NOTIFY_MESSAGE: decision.message,
    NOTIFY_WORKSPACE: workspace,
    NOTIFY_JOB: jobPath,
    NOTIFY_TITLE: title,
    NOTIFY_COMMAND: `emend review ${run}`,
  };
  try {
    const ran = await runCommand({
      command,
      cwd: io.cwd,
      env: { ...io.env, ...about },
      timeout_s: SHOWN_BOUNDS.notify_s,
      maxOutput_bytes: SHOWN_BOUNDS.notifyOutput_bytes,
    });
    if (ran.exit !== 0) io.err(plain(`The notify command ended with ${String(ran.exit)}: ${ran.output.trim()}`));
  } catch (error) {
    io.err(plain(`The notify command could not be run: ${error instanceof Error ? error.message : String(error)}`));
  }
};
