const express = require('express');
const pg = require('pg');

import('./service.mjs').then(({ start }) => start(express, pg));
