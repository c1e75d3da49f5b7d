/** The arrows of the house (docs/architecture.md). A rule that cannot fail is no rule: test/structure proves that each fires. */
const own = '^(src/|(worker|client)[.]ts$)';
const only = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: own, pathNot: [from, ...allowed].map((p) => p) },
});

module.exports = {
  forbidden: [
    only('shared-alone', '^src/shared/', []),
    only('edits-pure', '^src/edits/', ['^src/shared/']),
    only('syntax-port', '^src/syntax/', ['^src/shared/', '^src/edits/']),
    only('job-pure', '^src/job/', ['^src/shared/']),
    only('plan-pure', '^src/plan/', ['^src/shared/']),
    only('model-port', '^src/model/', ['^src/shared/', '^src/edits/', '^src/workspace/']),
    only('workspace-port', '^src/workspace/', ['^src/shared/', '^src/edits/']),
    only('plan-files-port', '^src/plan-files/', ['^src/shared/', '^src/job/', '^src/plan/', '^src/workspace/']),
    only('activities-arrows', '^src/activities/', [
      '^src/shared/',
      '^src/edits/',
      '^src/syntax/',
      '^src/job/',
      '^src/plan/',
      '^src/plan-files/',
      '^src/model/',
      '^src/workspace/',
    ]),
    only('temporal-port', '^src/temporal/', ['^src/shared/', '^src/workspace/']),
    only('client-arrows', '^src/client/', [
      '^src/shared/',
      '^src/edits/',
      '^src/job/',
      '^src/plan/',
      '^src/plan-files/',
      '^src/model/',
      '^src/workspace/',
      '^src/temporal/',
    ]),
    only('web-arrows', '^src/web/', ['^src/shared/', '^src/edits/', '^src/client/']),
    {
      name: 'page-as-types',
      comment:
        'the page runs in a browser: of the rest it uses types, what `shared` says of answers, and what `edits` reads in a sealed diff',
      severity: 'error',
      from: { path: '^src/web/page/' },
      to: {
        path: '^src/',
        pathNot: '^src/(web/page|shared)/|^src/edits/(sealed-diff|unified-diff-names|need-name)[.]ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    only('workflows-arrows', '^src/workflows/', ['^src/shared/', '^src/activities/']),
    {
      name: 'replay-reads-no-constants',
      comment:
        'a history replays by the rules in its input (src/shared/rules.ts); queries, details and names are not replayed',
      severity: 'error',
      from: {
        path: '^src/(shared|workflows)/',
        pathNot: '^src/shared/((plan/)?(views|event-words)|rules|refs)[.]ts$',
      },
      to: { path: '^src/shared/(limits|bounds)[.]ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'sandbox-no-builtins',
      comment: 'shared and workflows load in the workflow sandbox',
      severity: 'error',
      from: { path: '^src/(shared|workflows)/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'edits-no-io',
      comment: 'the edit engine is pure: bytes in, bytes out',
      severity: 'error',
      from: { path: '^src/(edits|plan|job)/' },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|buffer|path)$' },
    },
    {
      name: 'activities-as-types',
      comment: 'a value import of an activity would pull Node into the sandbox',
      severity: 'error',
      from: { path: '^src/workflows/' },
      to: { path: '^src/activities/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.build.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
