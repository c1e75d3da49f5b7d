/** A plan's phases: how far each is, how hard it was reckoned, what failed, and the runs that did the work. */
import type { PlanProgress } from '../../../shared/plan/types.js';
import { shownKey } from './words.js';

type Phase = PlanProgress['phases'][number];

export const PlanPhases = ({ plan }: { readonly plan: PlanProgress }) => (
  <section aria-label="Phases">
    <h2>
      Phases <span class="number">{plan.phases.length}</span>
    </h2>
    {plan.pausedBy !== null && (
      <p class="box warn">
        Paused by {plan.pausedBy}: <code>emend plan resume</code> goes on.
      </p>
    )}
    {plan.stopAfterPhase !== null && <p class="box">It stops after phase {plan.stopAfterPhase}.</p>}
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of phases">
      <table>
        <thead>
          <tr>
            {['Phase', 'Status', 'Tasks', 'Score', 'Failures', 'Replans', 'Commit', 'Run', 'Why'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {plan.phases.map((phase) => (
            <PhaseRow key={phase.id} phase={phase} />
          ))}
        </tbody>
      </table>
    </div>
  </section>
);

const PhaseRow = ({ phase }: { readonly phase: Phase }) => (
  <tr>
    <th scope="row">
      {phase.number}. {phase.name}
    </th>
    <td>
      <span class={`file-status ${phase.status === 'completed' ? 'done' : phase.status}`}>{phase.status}</span>
    </td>
    <td>{phase.tasks}</td>
    <td>{phase.score.toFixed(1)}</td>
    <td>{phase.failures === 0 ? '' : phase.failures}</td>
    <td>{phase.replans === 0 ? '' : phase.replans}</td>
    <td>{phase.commit !== null && <code>{phase.commit.slice(0, 12)}</code>}</td>
    <td>{phase.run !== null && <a href={`#/run/${phase.run}`}>{shownKey(phase.run)}</a>}</td>
    <td class="why">{phase.why ?? ''}</td>
  </tr>
);
