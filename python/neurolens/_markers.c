/* The markers of the Python package, by the same header as in C and C++. Limited API of Python 3.9: one file
   for all later versions. Every function runs with the GIL. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "neurolens/neurolens.h"

#ifndef METH_FASTCALL /* in every Python since 3.7, part of the limited API since 3.10 */
#define METH_FASTCALL 0x0080
#endif

static const neurolens_api* api;     /* NULL: nothing is recorded */
static const neurolens_tools* tools; /* NULL: nobody else listens */
static PyObject* name_numbers;       /* str -> int, of names that were used before */
static PyObject* name_texts;         /* str -> bytes, the same for other tools */
static PyObject* decorate;           /* neurolens._decorate.decorated */
static PyObject* scope_function;     /* neurolens.scope */
static PyObject* no_scope;           /* the one scope there is while nobody listens */
static PyObject* dumps;              /* json.dumps, and its keywords */
static PyObject* dumps_options;

/* ---- Names */

static const Py_ssize_t kMaxKnownNames = 1 << 16;

static uint32_t look_up(PyObject* name) {
  PyObject* const bytes = PyUnicode_AsEncodedString(name, "utf-8", "replace");
  if (bytes == NULL) return 0;
  const uint32_t number = api->name("", 0, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
  Py_DECREF(bytes);
  PyObject* const known = PyLong_FromUnsignedLong(number);
  if (known == NULL) return 0;
  if (PyDict_Size(name_numbers) >= kMaxKnownNames) PyDict_Clear(name_numbers);
  if (number != 0 && PyDict_SetItem(name_numbers, name, known) != 0) PyErr_Clear();
  Py_DECREF(known);
  return number;
}

static int is_name(PyObject* name) {
  if (PyUnicode_Check(name)) return 1;
  PyErr_SetString(PyExc_TypeError, "the name of a marker is a str");
  return 0;
}

/* 0 and no error if there are too many or nothing is recorded; an error if it is no text. */
static uint32_t number_of(PyObject* name) {
  if (api == NULL) return 0;
  PyObject* const known = PyDict_GetItemWithError(name_numbers, name); /* borrowed */
  if (known != NULL) return (uint32_t)PyLong_AsUnsignedLong(known);
  if (PyErr_Occurred() || !is_name(name)) return 0;
  return look_up(name);
}

/* Its bytes, a new reference: NULL and no error if no other tool listens. */
static PyObject* text_of(PyObject* name) {
  if (tools == NULL) return NULL;
  PyObject* text = PyDict_GetItemWithError(name_texts, name); /* borrowed */
  if (text == NULL) {
    if (PyErr_Occurred() || !is_name(name)) return NULL;
    text = PyUnicode_AsEncodedString(name, "utf-8", "replace");
    if (text == NULL) return NULL;
    if (PyDict_Size(name_texts) >= kMaxKnownNames) PyDict_Clear(name_texts);
    if (PyDict_SetItem(name_texts, name, text) != 0) PyErr_Clear();
    return text;
  }
  Py_INCREF(text);
  return text;
}

/* ---- Tasks of asyncio: each is a lane of its thread */

static PyObject* modules;        /* sys.modules */
static PyObject* asyncio_events; /* "asyncio.events" */
static PyObject* running_loop;   /* asyncio._get_running_loop, once asyncio is there */
static PyObject* current_task;   /* asyncio.current_task */

static int find_asyncio(void) {
  if (running_loop != NULL) return 1;
  if (PyDict_GetItemWithError(modules, asyncio_events) == NULL) return 0;
  PyObject* const asyncio = PyImport_ImportModule("asyncio");
  if (asyncio == NULL) return 0;
  current_task = PyObject_GetAttrString(asyncio, "current_task");
  if (current_task != NULL) running_loop = PyObject_GetAttrString(asyncio, "_get_running_loop");
  Py_DECREF(asyncio);
  return running_loop != NULL;
}

/* The task that runs on this thread; 0 if none does. A task keeps its number for life. */
static uint64_t lane_of_task(void) {
  uint64_t lane = 0;
  if (find_asyncio()) {
    PyObject* const loop = PyObject_CallObject(running_loop, NULL);
    if (loop != NULL && loop != Py_None) {
      PyObject* const task = PyObject_CallFunctionObjArgs(current_task, loop, NULL);
      if (task != NULL && task != Py_None) lane = (uint64_t)(uintptr_t)task;
      Py_XDECREF(task);
    }
    Py_XDECREF(loop);
  }
  PyErr_Clear();
  return lane;
}

/* ---- Scopes */

typedef struct {
  PyObject_HEAD PyObject* name;
  PyObject* attributes; /* dict or NULL */
  PyObject* json;       /* of these, bytes or NULL */
  PyObject* text;       /* the name for other tools, bytes or NULL */
  uint32_t number;
  uint32_t refused; /* times it was entered while it was open */
  uint64_t lane;
  uint64_t token;
  neurolens_range range; /* of other tools, on a lane */
  int is_open;
} Scope;

static void scope_dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Scope* const scope = (Scope*)self;
  Py_DECREF(scope->name);
  Py_XDECREF(scope->attributes);
  Py_XDECREF(scope->json);
  Py_XDECREF(scope->text);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

/* Tasks take turns on a thread, so that for other tools their ranges cannot nest. */
static void begin_for_tools(Scope* scope) {
  const char* const text = PyBytes_AsString(scope->text);
  if (scope->lane == 0)
    neurolens_tools_push(tools, NULL, text);
  else
    scope->range = neurolens_tools_start(tools, text);
}

static void end_for_tools(const Scope* scope) {
  if (scope->lane == 0)
    neurolens_tools_pop(tools, NULL);
  else
    neurolens_tools_stop(tools, scope->range);
}

static PyObject* scope_enter(PyObject* self, PyObject* unused) {
  Scope* const scope = (Scope*)self;
  (void)unused;
  Py_INCREF(self);
  if (scope->is_open) {
    scope->refused++;
    if (api != NULL) api->refuse_reused();
    return self;
  }
  scope->is_open = 1;
  scope->lane = lane_of_task();
  if (api != NULL) {
    const char* const json = scope->json != NULL ? PyBytes_AsString(scope->json) : NULL;
    const size_t bytes = json != NULL ? (size_t)PyBytes_Size(scope->json) : 0;
    scope->token = neurolens_begin_with(api, scope->number, scope->lane, json, bytes);
  }
  if (scope->text != NULL) begin_for_tools(scope);
  return self;
}

static PyObject* scope_exit(PyObject* self, PyObject* const* unused, Py_ssize_t count) {
  Scope* const scope = (Scope*)self;
  (void)unused;
  (void)count;
  if (scope->refused > 0) {
    scope->refused--;
    if (api != NULL) api->refuse_reused();
  } else if (scope->is_open) {
    scope->is_open = 0;
    if (scope->text != NULL) end_for_tools(scope);
    if (api != NULL && scope->lane == 0) api->end(scope->token, scope->number);
    if (api != NULL && scope->lane != 0) api->end_on_lane(scope->token, scope->number, scope->lane);
  }
  Py_RETURN_NONE;
}

/* The function that a scope decorates; borrowed. */
static PyObject* function_of(PyObject* args, PyObject* keywords) {
  PyObject* function;
  if (keywords != NULL && PyDict_Size(keywords) > 0) {
    PyErr_SetString(PyExc_TypeError, "a scope decorates one function");
    return NULL;
  }
  return PyArg_ParseTuple(args, "O", &function) ? function : NULL;
}

static PyObject* scope_call(PyObject* self, PyObject* args, PyObject* keywords) {
  PyObject* const function = function_of(args, keywords);
  if (function == NULL) return NULL;
  Scope* const scope = (Scope*)self;
  return PyObject_CallFunctionObjArgs(decorate, scope_function, scope->name, function, scope->attributes,
                                      NULL);
}

static PyMethodDef scope_methods[] = {
    {"__enter__", scope_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))scope_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL}};
static PyType_Slot scope_slots[] = {{Py_tp_dealloc, (void*)scope_dealloc},
                                    {Py_tp_methods, scope_methods},
                                    {Py_tp_call, (void*)scope_call},
                                    {0, NULL}};
static PyType_Spec scope_spec = {"neurolens.Scope", sizeof(Scope), 0, Py_TPFLAGS_DEFAULT, scope_slots};
static PyTypeObject* scope_type;

/* Takes the references to all but the name. */
static PyObject* new_scope(PyObject* name, uint32_t number, PyObject* attributes, PyObject* json,
                           PyObject* text) {
  Scope* const scope = PyObject_New(Scope, scope_type);
  if (scope == NULL) {
    Py_XDECREF(attributes);
    Py_XDECREF(json);
    Py_XDECREF(text);
    return NULL;
  }
  Py_INCREF(name);
  scope->name = name;
  scope->attributes = attributes;
  scope->json = json;
  scope->text = text;
  scope->number = number;
  scope->refused = 0;
  scope->lane = scope->token = 0;
  scope->is_open = 0;
  return (PyObject*)scope;
}

/* ---- The one scope there is while nobody listens. Its methods are plain functions without a self, so
   that `with` has nothing to bind: that is half of its time. */

/* With a `self` where it is called as a function of the type, which contextlib.ExitStack does. */
static PyObject* enter_nothing(PyObject* self, PyObject* const* unused, Py_ssize_t count) {
  (void)self;
  (void)unused;
  (void)count;
  Py_INCREF(no_scope);
  return no_scope;
}

static PyObject* exit_nothing(PyObject* self, PyObject* const* unused, Py_ssize_t count) {
  (void)self;
  (void)unused;
  (void)count;
  Py_RETURN_NONE;
}

/* A function that nobody hears of stays as it is. */
static PyObject* decorate_nothing(PyObject* self, PyObject* args, PyObject* keywords) {
  PyObject* const function = function_of(args, keywords);
  (void)self;
  Py_XINCREF(function);
  return function;
}

static PyMethodDef enter_definition = {"__enter__", (PyCFunction)(void (*)(void))enter_nothing, METH_FASTCALL,
                                       NULL};
static PyMethodDef exit_definition = {"__exit__", (PyCFunction)(void (*)(void))exit_nothing, METH_FASTCALL,
                                      NULL};
static PyType_Slot no_scope_slots[] = {{Py_tp_call, (void*)decorate_nothing}, {0, NULL}};
static PyType_Spec no_scope_spec = {"neurolens.NoScope", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT,
                                    no_scope_slots};

static PyObject* make_no_scope(void) {
  PyObject* const type = PyType_FromSpec(&no_scope_spec);
  PyObject* const enter = PyCFunction_New(&enter_definition, NULL);
  PyObject* const exit = PyCFunction_New(&exit_definition, NULL);
  PyObject* made = NULL;
  if (type && enter && exit && PyObject_SetAttrString(type, "__enter__", enter) == 0 &&
      PyObject_SetAttrString(type, "__exit__", exit) == 0)
    made = (PyObject*)PyObject_New(PyObject, (PyTypeObject*)type);
  Py_XDECREF(enter);
  Py_XDECREF(exit);
  return made; /* the type stays */
}

/* ---- The module */

static PyObject* attributes_text(PyObject* attributes) {
  PyObject* const args = PyTuple_Pack(1, attributes);
  PyObject* const text = args != NULL ? PyObject_Call(dumps, args, dumps_options) : NULL;
  Py_XDECREF(args);
  PyObject* const bytes = text != NULL ? PyUnicode_AsEncodedString(text, "utf-8", "replace") : NULL;
  Py_XDECREF(text);
  return bytes;
}

/* A dict of the keywords of a call, whose values stand behind one another. */
static PyObject* dict_of(PyObject* const* values, PyObject* keys) {
  PyObject* const dict = PyDict_New();
  const Py_ssize_t count = PyTuple_Size(keys);
  for (Py_ssize_t i = 0; dict != NULL && i < count; i++) {
    if (PyDict_SetItem(dict, PyTuple_GetItem(keys, i), values[i]) == 0) continue;
    Py_DECREF(dict);
    return NULL;
  }
  return dict;
}

static PyObject* scope(PyObject* self, PyObject* const* values, Py_ssize_t count, PyObject* keys) {
  PyObject *attributes = NULL, *json = NULL;
  (void)self;
  if (count != 1) {
    PyErr_SetString(PyExc_TypeError, "a scope has a name, and attributes by keywords");
    return NULL;
  }
  if (api == NULL && tools == NULL) {
    Py_INCREF(no_scope);
    return no_scope;
  }
  const uint32_t number = number_of(values[0]);
  PyObject* const text = PyErr_Occurred() == NULL ? text_of(values[0]) : NULL;
  if (PyErr_Occurred() == NULL && api != NULL && keys != NULL && PyTuple_Size(keys) > 0) {
    attributes = dict_of(values + count, keys);
    json = attributes != NULL ? attributes_text(attributes) : NULL;
  }
  if (PyErr_Occurred() == NULL) return new_scope(values[0], number, attributes, json, text);
  Py_XDECREF(attributes);
  Py_XDECREF(text);
  return NULL;
}

static void mark_for_tools(PyObject* name) {
  PyObject* const text = text_of(name);
  if (text != NULL) neurolens_tools_mark(tools, PyBytes_AsString(text));
  Py_XDECREF(text);
}

static PyObject* mark_event(PyObject* self, PyObject* args, PyObject* attributes) {
  PyObject* name;
  (void)self;
  if (api == NULL && tools == NULL) Py_RETURN_NONE;
  if (!PyArg_ParseTuple(args, "O", &name)) return NULL;
  const uint32_t number = number_of(name);
  if (PyErr_Occurred()) return NULL;
  mark_for_tools(name);
  if (PyErr_Occurred()) return NULL;
  if (api == NULL) Py_RETURN_NONE;
  if (attributes == NULL || PyDict_Size(attributes) == 0) {
    api->mark(number, NULL, 0);
    Py_RETURN_NONE;
  }
  PyObject* const text = attributes_text(attributes);
  if (text == NULL) return NULL;
  api->mark(number, PyBytes_AsString(text), (size_t)PyBytes_Size(text));
  Py_DECREF(text);
  Py_RETURN_NONE;
}

static PyObject* counter(PyObject* self, PyObject* args) {
  PyObject* name;
  double value;
  (void)self;
  if (api == NULL) Py_RETURN_NONE;
  if (!PyArg_ParseTuple(args, "Od", &name, &value)) return NULL;
  const uint32_t number = number_of(name);
  if (number == 0 && PyErr_Occurred()) return NULL;
  api->counter(number, value);
  Py_RETURN_NONE;
}

static PyObject* is_recording(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  return PyBool_FromLong(api != NULL);
}

static PyObject* set_decorate(PyObject* self, PyObject* function) {
  (void)self;
  Py_INCREF(function);
  Py_XDECREF(decorate);
  decorate = function;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"scope", (PyCFunction)(void (*)(void))scope, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"mark_event", (PyCFunction)(void (*)(void))mark_event, METH_VARARGS | METH_KEYWORDS, NULL},
    {"counter", counter, METH_VARARGS, NULL},
    {"is_recording", is_recording, METH_NOARGS, NULL},
    {"set_decorate", set_decorate, METH_O, NULL},
    {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "neurolens._markers", NULL, -1, functions, NULL, NULL, NULL, NULL};

static int prepare(PyObject* module) {
  scope_type = (PyTypeObject*)PyType_FromSpec(&scope_spec);
  if (scope_type == NULL) return -1;
  no_scope = make_no_scope();
  scope_function = PyObject_GetAttrString(module, "scope");
  name_numbers = PyDict_New();
  name_texts = PyDict_New();
  asyncio_events = PyUnicode_InternFromString("asyncio.events");
  modules = PyImport_GetModuleDict(); /* borrowed, there for good */
  PyObject* const json = PyImport_ImportModule("json");
  dumps = json != NULL ? PyObject_GetAttrString(json, "dumps") : NULL;
  Py_XDECREF(json);
  dumps_options = Py_BuildValue("{s:O,s:O,s:O}", "default", (PyObject*)&PyUnicode_Type, "skipkeys", Py_True,
                                "ensure_ascii", Py_True);
  const neurolens_front* const front = neurolens_listening();
  api = front != NULL ? front->api : NULL;
  tools = front != NULL ? front->tools : NULL;
  const int is_whole = no_scope && scope_function && name_numbers && name_texts && asyncio_events;
  return is_whole && dumps && dumps_options ? 0 : -1;
}

PyMODINIT_FUNC PyInit__markers(void) {
  PyObject* const module = PyModule_Create(&definition);
  if (module != NULL && prepare(module) != 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
