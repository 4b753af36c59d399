/* The markers of the Python package, by the same header as in C and C++. Limited API of Python 3.9: one file
   for all later versions. Every function runs with the GIL. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "neurolens/neurolens.h"

#ifndef METH_FASTCALL /* in every Python since 3.7, part of the limited API since 3.10 */
#define METH_FASTCALL 0x0080
#endif

static const neurolens_api* api; /* NULL: nothing is recorded */
static PyObject* name_numbers;   /* str -> int, of names that were used before */
static PyObject* decorate;       /* neurolens._decorate.decorated */
static PyObject* scope_function; /* neurolens.scope */
static PyObject* no_scope;       /* the one scope there is while nothing is recorded */
static PyObject* dumps;          /* json.dumps, and its keywords */
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

/* 0 and no error if there are too many; an error if it is no text. */
static uint32_t number_of(PyObject* name) {
  PyObject* const known = PyDict_GetItemWithError(name_numbers, name); /* borrowed */
  if (known != NULL) return (uint32_t)PyLong_AsUnsignedLong(known);
  if (PyErr_Occurred()) return 0;
  if (!PyUnicode_Check(name)) {
    PyErr_SetString(PyExc_TypeError, "the name of a marker is a str");
    return 0;
  }
  return look_up(name);
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
  PyObject_HEAD PyObject* name; /* NULL: the scope that records nothing */
  uint32_t number;
  uint32_t refused; /* times it was entered while it was open */
  uint64_t lane;
  uint64_t token;
  int is_open;
} Scope;

static void scope_dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_DECREF(((Scope*)self)->name);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyObject* scope_enter(PyObject* self, PyObject* unused) {
  Scope* const scope = (Scope*)self;
  (void)unused;
  Py_INCREF(self);
  if (scope->is_open) {
    scope->refused++;
    api->refuse_reused();
    return self;
  }
  scope->is_open = 1;
  scope->lane = lane_of_task();
  scope->token =
      scope->lane == 0 ? api->begin(scope->number) : api->begin_on_lane(scope->number, scope->lane);
  return self;
}

static PyObject* scope_exit(PyObject* self, PyObject* const* unused, Py_ssize_t count) {
  Scope* const scope = (Scope*)self;
  (void)unused;
  (void)count;
  if (scope->refused > 0) {
    scope->refused--;
    api->refuse_reused();
  } else if (scope->is_open) {
    scope->is_open = 0;
    if (scope->lane == 0)
      api->end(scope->token, scope->number);
    else
      api->end_on_lane(scope->token, scope->number, scope->lane);
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
  return PyObject_CallFunctionObjArgs(decorate, scope_function, ((Scope*)self)->name, function, NULL);
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

static PyObject* new_scope(PyObject* name, uint32_t number) {
  Scope* const scope = PyObject_New(Scope, scope_type);
  if (scope == NULL) return NULL;
  Py_INCREF(name);
  scope->name = name;
  scope->number = number;
  scope->refused = 0;
  scope->lane = scope->token = 0;
  scope->is_open = 0;
  return (PyObject*)scope;
}

/* ---- The one scope there is while nothing is recorded. Its methods are plain functions without a self, so
   that `with` has nothing to bind: that is half of its time. */

static PyObject* enter_nothing(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  Py_INCREF(no_scope);
  return no_scope;
}

static PyObject* exit_nothing(PyObject* self, PyObject* const* unused, Py_ssize_t count) {
  (void)self;
  (void)unused;
  (void)count;
  Py_RETURN_NONE;
}

/* A function that records nothing stays as it is. */
static PyObject* decorate_nothing(PyObject* self, PyObject* args, PyObject* keywords) {
  PyObject* const function = function_of(args, keywords);
  (void)self;
  Py_XINCREF(function);
  return function;
}

static PyMethodDef enter_definition = {"__enter__", enter_nothing, METH_NOARGS, NULL};
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

static PyObject* scope(PyObject* self, PyObject* name) {
  (void)self;
  if (api == NULL) {
    Py_INCREF(no_scope);
    return no_scope;
  }
  const uint32_t number = number_of(name);
  if (number == 0 && PyErr_Occurred()) return NULL;
  return new_scope(name, number);
}

static PyObject* attributes_text(PyObject* attributes) {
  PyObject* const args = PyTuple_Pack(1, attributes);
  PyObject* const text = args != NULL ? PyObject_Call(dumps, args, dumps_options) : NULL;
  Py_XDECREF(args);
  PyObject* const bytes = text != NULL ? PyUnicode_AsEncodedString(text, "utf-8", "replace") : NULL;
  Py_XDECREF(text);
  return bytes;
}

static PyObject* mark_event(PyObject* self, PyObject* args, PyObject* attributes) {
  PyObject* name;
  (void)self;
  if (api == NULL) Py_RETURN_NONE;
  if (!PyArg_ParseTuple(args, "O", &name)) return NULL;
  const uint32_t number = number_of(name);
  if (number == 0 && PyErr_Occurred()) return NULL;
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
    {"scope", scope, METH_O, NULL},
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
  asyncio_events = PyUnicode_InternFromString("asyncio.events");
  modules = PyImport_GetModuleDict(); /* borrowed, there for good */
  PyObject* const json = PyImport_ImportModule("json");
  dumps = json != NULL ? PyObject_GetAttrString(json, "dumps") : NULL;
  Py_XDECREF(json);
  dumps_options = Py_BuildValue("{s:O,s:O,s:O}", "default", (PyObject*)&PyUnicode_Type, "skipkeys", Py_True,
                                "ensure_ascii", Py_True);
  api = neurolens_recording();
  return no_scope && scope_function && name_numbers && asyncio_events && dumps && dumps_options ? 0 : -1;
}

PyMODINIT_FUNC PyInit__markers(void) {
  PyObject* const module = PyModule_Create(&definition);
  if (module != NULL && prepare(module) != 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
