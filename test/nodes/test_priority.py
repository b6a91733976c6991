"""Real-time priority of a process, where the machine allows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# A process of its own: its scheduling is not that of the tests.
PROGRAM = """
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from reward_learning_ros.nodes.running import raise_priority

end = threading.Event()
thread = threading.Thread(target=end.wait)
thread.start()
refusal = raise_priority(3)
policies = [os.sched_getscheduler(int(name)) for name in os.listdir('/proc/self/task')]
with ThreadPoolExecutor(max_workers=1) as executor:
    policy = executor.submit(os.sched_getscheduler, 0).result()
end.set()
print(json.dumps([refusal, policies, policy]))
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='scheduling policies of Linux')
def test_every_thread_gets_the_priority_or_the_refusal_is_told():
    result = subprocess.run(
        [sys.executable, '-c', PROGRAM], capture_output=True, text=True, check=True
    )
    refusal, policies, policy_of_worker = json.loads(result.stdout)
    # Refused, it keeps what it inherited from the tests.
    expected = os.SCHED_RR if refusal is None else os.sched_getscheduler(0)
    assert len(policies) >= 2
    assert set(policies) == {expected}
    # Threads that are made later have it too.
    assert policy_of_worker == expected
