"""moto for tests that bring their own images, and perhaps a thousand machines.

Amazon's images, over a thousand in each region, are not loaded. Tags are looked up: moto itself goes through all tags
of the region for every resource that it shows. Requests come one at a time (upstream.rs), and a thread for each costs
more than most answers.
"""

import os

os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"

from moto import server
from moto.ec2.models.core import TaggedEC2Resource
from moto.ec2.utils import EC2_PREFIX_TO_RESOURCE, get_prefix


def get_tags(self):
    if not self.id:
        return []
    kind = EC2_PREFIX_TO_RESOURCE.get(get_prefix(self.id), "")
    return [
        {"resource_id": self.id, "key": key, "value": value, "resource_type": kind}
        for key, value in self.ec2_backend.tags.get(self.id, {}).items()
    ]


run_simple = server.run_simple


def run_without_threads(*arguments, **options):
    run_simple(*arguments, **(options | {"threaded": False}))


TaggedEC2Resource.get_tags = get_tags
server.run_simple = run_without_threads
server.main()
