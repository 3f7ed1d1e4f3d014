"""moto for tests that bring their own images, and perhaps a thousand machines.

Amazon's images, over a thousand in each region, are not loaded. Tags are looked up: moto itself goes through all tags
of the region for every resource that it shows. Requests come one at a time (upstream.rs), and a thread for each costs
more than most answers. What never changes is computed once, and not for each request.
"""

import functools
import gc
import os
import selectors
import types

os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"

from moto import backends, server
from moto.core import responses, serialize
from moto.ec2.models.core import TaggedEC2Resource
from moto.ec2.utils import EC2_PREFIX_TO_RESOURCE, get_prefix
from werkzeug import serving
import xmltodict


def get_tags(self):
    if not self.id:
        return []
    kind = EC2_PREFIX_TO_RESOURCE.get(get_prefix(self.id), "")
    return [
        {"resource_id": self.id, "key": key, "value": value, "resource_type": kind}
        for key, value in self.ec2_backend.tags.get(self.id, {}).items()
    ]


def possible_keys(self, context):
    """The names that a field may have in moto's objects follow from the types alone."""
    place = (type(self), type(context.obj), context.key, id(context.shape))
    known = names.get(place)
    if known is None:
        # The shape is kept, so that its id stays its own.
        known = names[place] = (tuple(get_possible_keys(self, context)), context.shape)
    return known[0]


def pick(self, context):
    """As moto's, but a transformer of another key costs no string of the whole path."""
    key = context.key
    value = None
    for name in self.get_possible_keys(context):
        found = serialize.get_value(context.obj, name, serialize.MISSING)
        if found is not serialize.MISSING:
            value = found
            break
    for path, transform in self.response_transformers.items():
        if path[-1] == key[-1] and f"{context.key_path}.{key}".endswith(path):
            return transform(value)
    return value


class NoWait(selectors.DefaultSelector):
    """Werkzeug waits 10 ms after each answer for the rest of a request; ours are complete."""

    def select(self, timeout=None):
        return super().select(0)


run_simple = server.run_simple


def run_without_threads(*arguments, **options):
    gc.freeze()
    gc.set_threshold(50_000)
    run_simple(*arguments, **(options | {"threaded": False}))


modules = frozenset(backends.list_of_moto_modules())
backends.list_of_moto_modules = lambda: modules
responses.method_names_from_class = functools.cache(responses.method_names_from_class)
serving.selectors = types.SimpleNamespace(DefaultSelector=NoWait, EVENT_READ=selectors.EVENT_READ)
names = {}
get_possible_keys = serialize.XFormedAttributePicker.get_possible_keys
serialize.XFormedAttributePicker.get_possible_keys = possible_keys
serialize.AttributePicker.__call__ = pick
xmltodict._validate_name = functools.cache(xmltodict._validate_name)
TaggedEC2Resource.get_tags = get_tags
server.run_simple = run_without_threads
server.main()
