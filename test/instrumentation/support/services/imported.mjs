import express from 'express';
import pg from 'pg';
import { start } from './service.mjs';

start(express, pg);
