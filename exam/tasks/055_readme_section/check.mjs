import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
const text = readFileSync('README.md', 'utf8');
assert.match(text, /\nledger report --month 3\n```\n+## Upgrading\n+Run ledger migrate once\.\n+## Licence\n\nMIT\.\n$/);
assert.ok(text.startsWith('# Ledger\n\nKeeps accounts in plain text.\n\n## Install\n'));
assert.match(text, /pip install ledger\n```\n\nPython 3\.10 or newer\.\n\n## Usage\n/);
